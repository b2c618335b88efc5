"""LSTMN as a translator: memory tapes in encoder and decoder, and attention between the two (2016).

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

Attention within each sentence (`layers/tape.py`) is combined with attention between the two:

- `shallow` fusion: an encoder-decoder with attention whose two LSTMs are LSTMNs. The query is the decoder's
  last hidden state, and the context is concatenated with the word as input of the cell.
- `deep` fusion: the source's hidden states γ and cell states α are both averaged with the same attention
  weights, and the averaged cell state is added to the decoder's cell state through its own gate r:

    b_j = uᵀ tanh(W_γ γ_j + W_x x_t + W_γ~ γ~_{t-1})     p = softmax(b)
    γ~_t = Σ p_j γ_j,   α~_t = Σ p_j α_j
    r_t = σ(W_r [γ~_t; x_t])
    c_t = r_t ⊙ α~_t + f_t ⊙ c~_t + i_t ⊙ ĉ_t            h_t = o_t ⊙ tanh(c_t)

Where this differs from the paper:
- The paper uses fusion for pairs of sentences but trains no translator. It describes shallow fusion only in
  words, following Bahdanau; the score here is additive.
- The decoder's tape starts with one entry, the encoder's last hidden and cell state, as in an LSTM
  encoder-decoder. The paper doesn't say how the decoder starts. γ~_0 is 0.
- The next word is predicted from h_t alone, projected to the width of the embeddings.
- There is one layer on each side, and gates have biases, as in torch's LSTM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.masks import padding_mask
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore
from course_lib.layers.tape import TapeCell
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.inputs import check_ids, check_sentences
from course_lib.models.translator import Lengths, Source, SteppingTranslator, Target, Walked
from course_lib.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class LSTMNConfig(Config):
    """`hidden` is the width of a state on either tape, `attn_dim` that of the scores' hidden layers."""

    embed: int
    hidden: int
    attn_dim: int
    fusion: Literal["shallow", "deep"] = "deep"


class LSTMN(SteppingTranslator):
    """Two LSTMNs with attention between them."""

    def __init__(self, config: LSTMNConfig):
        super().__init__(config)
        embed, hidden, attn_dim = config.embed, config.hidden, config.attn_dim
        self.deep = config.fusion == "deep"
        self.words = Embeddings(config, embed=embed)
        self.encoder = TapeCell(input_size=embed, hidden=hidden, attn_dim=attn_dim)
        self.decoder = TapeCell(
            input_size=embed if self.deep else embed + hidden, hidden=hidden, attn_dim=attn_dim
        )
        self.score = AdditiveScore(
            query_dim=embed + hidden if self.deep else hidden, key_dim=hidden, attn_dim=attn_dim
        )
        self.gate = nn.Linear(hidden + embed, hidden) if self.deep else None
        self.output = nn.Linear(hidden, embed)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        return self._encode(src, src_lengths)[0]

    def _encode(
        self, src: Tensor, src_lengths: Tensor, *, with_weights: bool = False
    ) -> tuple[Rows, Float[Tensor, "batch src src"] | None]:
        """The memory, and the encoder's attention weights over its own tape if requested."""
        states, rows, weights = self.encoder.encode(self.words.source(src), with_weights=with_weights)
        last_index = (src_lengths - 1)[:, None, None].to(torch.int64)
        memory = {
            # The same at every step, so computed once.
            "keys": self.score.project_keys(states),
            "values": rows["tape"] if self.deep else states,
            "mask": padding_mask(src_lengths, src.shape[1]),
            "last": rows["tape"].take_along_dim(last_index, dim=1)[:, 0],
        }
        return memory, weights

    def start(self, memory: Rows) -> Rows:
        hidden, cell = memory["last"].chunk(2, dim=-1)
        state = self.decoder.write(self.decoder.start(len(hidden)), hidden, cell)
        # The initial γ~. Shallow fusion uses the hidden state as its query and doesn't need it.
        return state | {"source_summary": torch.zeros_like(state["summary"])} if self.deep else state

    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> Walked:
        hidden, state, weights, _ = self._decoder_step(memory, state, embedded)
        return hidden, state, weights[:, None]  # (batch, 1, 1, src)

    def logits(self, features: Float[Tensor, "... feature"]) -> Float[Tensor, "... vocab"]:
        return self.words.logits(self.output(self.dropout(features)))

    def attention_weights(self, src: Source, src_lengths: Lengths, tgt_in: Target) -> Rows:
        """Includes both tapes. The decoder's have an extra first column, for the encoder's last state."""
        check_sentences(src, src_lengths, self.config)
        check_ids("tgt_in", tgt_in, ("batch", "tgt"), self.config)
        memory, encoder = self._encode(src, src_lengths, with_weights=True)
        state, cross, decoder = self.start(memory), [], []
        for embedded in self.embed(tgt_in).unbind(dim=1):
            _, state, source_weights, tape_weights = self._decoder_step(memory, state, embedded)
            cross.append(source_weights)
            decoder.append(F.pad(tape_weights, (0, tgt_in.shape[1] + 1 - tape_weights.shape[1])))
        weights = {
            "encoder": encoder,
            "decoder": torch.stack(decoder, dim=1),
            "cross": torch.cat(cross, dim=1),
        }
        return {name: tensor[:, None, None] for name, tensor in weights.items()}  # one layer, one head

    def _decoder_step(
        self, memory: Rows, state: Rows, embedded: Tensor
    ) -> tuple[Tensor, Rows, Tensor, Tensor]:
        """Process a word: its hidden state, the new state, its attention weights over source and tape."""
        if self.deep:
            query = torch.cat([embedded, state["source_summary"]], dim=-1)
            context, weights = self._attend_source(memory, query)
            source_summary, source_memory = context.chunk(2, dim=-1)
            gate = torch.sigmoid(self.gate(torch.cat([source_summary, embedded], dim=-1)))
            hidden, state, tape_weights = self.decoder(embedded, state, added=gate * source_memory)
            return hidden, state | {"source_summary": source_summary}, weights, tape_weights
        last_hidden, _ = state["tape"][:, -1].chunk(2, dim=-1)
        context, weights = self._attend_source(memory, last_hidden)
        hidden, state, tape_weights = self.decoder(torch.cat([embedded, context], dim=-1), state)
        return hidden, state, weights, tape_weights

    def _attend_source(self, memory: Rows, query: Tensor) -> tuple[Tensor, Tensor]:
        context, weights = attend(
            query[:, None],
            memory["keys"],
            memory["values"],
            mask=memory["mask"],
            score=self.score.score_projected,
        )
        return context[:, 0], weights
