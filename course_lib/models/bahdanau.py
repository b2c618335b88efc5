"""Bahdanau, Cho, Bengio 2015: Neural Machine Translation by Jointly Learning to Align and Translate.

    >>> system = Bahdanau(BahdanauConfig(vocab_size=50, embed=8, hidden=16))
    >>> memory = system.encode(torch.tensor([[7, 8, 9, 3]]), torch.tensor([4]))
    >>> memory["annotations"].shape                       # 16 forward numbers, 16 backward
    torch.Size([1, 4, 32])
    >>> logits, weights = system.decode(memory, torch.tensor([[2, 7]]), with_weights=True)
    >>> weights.shape                                     # 4 attention weights for each of 2 target words
    torch.Size([1, 1, 1, 2, 4])

New: before each target word the decoder attends to the annotations of all source words, instead of using one
vector for the sentence. It learns the alignment from translations alone. Still recurrent on both sides.

    annotations   h_j = [→h_j ; ←h_j]                      a GRU each way
    first state   s_0 = tanh(W ←h_1)                       the backward GRU ends at the first word
    scores        e_ij = vᵀ tanh(W_a s_(i-1) + U_a h_j)    `additive`, from the state BEFORE this word
    context       c_i = Σ_j softmax(e_i)_j h_j
    state         s_i = GRU([E y_(i-1) ; c_i], s_(i-1))    the context enters the recurrence
    next word     W_o maxout(s_i, E y_(i-1), c_i)

Where this differs from the paper:
- The output layer uses s_i, as in the paper's text; its appendix has s_(i-1).
- The layer before the output is as wide as an embedding, so that one matrix can be shared (`tied`).
- The GRU is torch's: its reset gate is applied after the product with the state, not before it.
- Sizes are smaller (the paper has 620 and 1000), and there is optional dropout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.attention import attend
from course_lib.layers.cells import GRUCell
from course_lib.layers.feed_forward import Maxout
from course_lib.layers.masks import padding_mask
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Lengths, Source, SteppingTranslator, Walked
from course_lib.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class BahdanauConfig(Config):
    """`hidden` is the width of each of the three GRUs and of the score's hidden layer."""

    embed: int
    hidden: int


class Bahdanau(SteppingTranslator):
    """The first translator with attention over the source words."""

    def __init__(self, config: BahdanauConfig):
        super().__init__(config)
        embed, hidden = config.embed, config.hidden
        annotation = 2 * hidden  # one half for each direction
        self.words = Embeddings(config, embed=embed)
        self.encoder = Recurrent(kind="gru", input_size=embed, hidden=hidden, bidirectional=True)
        self.first_state = nn.Linear(hidden, hidden)
        self.score = AdditiveScore(query_dim=hidden, key_dim=annotation, attn_dim=hidden)
        self.decoder = GRUCell(input_size=embed + annotation, hidden=hidden)
        self.maxout = Maxout(input_size=hidden + embed + annotation, output_size=embed)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        annotations, _ = self.encoder(self.words.source(src), lengths=src_lengths)
        return {
            "annotations": annotations,
            # The same at every step, so computed once.
            "keys": self.score.project_keys(annotations),
            "mask": padding_mask(src_lengths, src.shape[1]),
        }

    def start(self, memory: Rows) -> Rows:
        backward = memory["annotations"][:, 0, self.config.hidden :]  # (batch, hidden), at the first word
        return {"hidden": torch.tanh(self.first_state(backward))}

    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> Walked:
        """Attend with the old state, then update it. The features are [state; embedding; context]."""
        context, weights = attend(
            state["hidden"].unsqueeze(1),
            memory["keys"],
            memory["annotations"],
            mask=memory["mask"],
            score=self.score.score_projected,
        )
        context = context.squeeze(1)  # (batch, annotation)
        hidden = self.decoder(torch.cat([embedded, context], dim=-1), state["hidden"])
        features = torch.cat([hidden, embedded, context], dim=-1)
        return features, {"hidden": hidden}, weights.unsqueeze(1)

    def logits(self, features: Float[Tensor, "... feature"]) -> Float[Tensor, "... vocab"]:
        return self.words.logits(self.dropout(self.maxout(features)))
