"""LSTMN as a translator: a tape in the encoder, a tape in the decoder, and attention between the two (2016).

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

New: attention inside each sentence (`layers/tape.py`) and attention across the two work together.

- `shallow` fusion: an encoder-decoder with attention whose two LSTMs are LSTMNs. The last hidden state asks
  the source, and the context enters the cell beside the word.
- `deep` fusion: the source has tapes too, so its hidden states γ and its memories α are both summed up
  with the same weights, and the sum of memories flows into the decoder's memory through a gate r of its own:

    b_j = uᵀ tanh(W_γ γ_j + W_x x_t + W_γ~ γ~_{t-1})     p = softmax(b)
    γ~_t = Σ p_j γ_j,   α~_t = Σ p_j α_j
    r_t = σ(W_r [γ~_t; x_t])
    c_t = r_t ⊙ α~_t + f_t ⊙ c~_t + i_t ⊙ ĉ_t            h_t = o_t ⊙ tanh(c_t)

Still missing: both tapes are written word by word, so nothing runs in parallel; attention still rides on a
recurrent network. Words of the source know only the words before them.

Where this differs from the paper:
- the paper fuses for pairs of sentences but trains no translator, so there are no sizes to follow.
- it describes shallow fusion in words, with Bahdanau as the model. Here, as there: the query is the decoder's
  last hidden state h_{t-1}, the score is additive, and the context stands beside the word, [x_t; context].
- the decoder's tape opens with one entry, the encoder's last hidden state and memory, as an encoder-decoder
  with LSTMs hands its state over; the paper does not say how the decoder starts. γ~_0 is 0.
- in deep fusion the query is the word and the last source summary, as in the formula: no decoder state asks.
- the next word is told from h_t alone, projected to the width of the word table.
- one layer a side; gates have biases, as torch's LSTM has them.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from course_lib.models.inputs import check_sentences, check_target
from course_lib.models.translator import SteppingTranslator
from course_lib.shapes import Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class LSTMNConfig(Config):
    """Width of a word, of a state on either tape, of the scores' hidden layers; and the kind of fusion."""

    embed: int
    hidden: int
    attn_dim: int
    fusion: str = "deep"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fusion not in ("shallow", "deep"):
            raise ValueError(
                f"Expected fusion to be 'shallow' or 'deep', but got {self.fusion!r}. "
                "Shallow: the context joins the word. Deep: it flows into the memory through a gate."
            )


class LSTMN(SteppingTranslator):
    """Two LSTMNs and the attention between them."""

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

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        return self._read(src, src_lengths)[0]

    def _read(
        self, src: Tensor, src_lengths: Tensor, *, with_weights: bool = False
    ) -> tuple[Rows, Float[Tensor, "batch src src"] | None]:
        """The memory, and where each source word looked on the tape."""
        states, rows, weights = self.encoder.encode(self.words.source(src), with_weights=with_weights)
        last = (src_lengths - 1)[:, None, None].to(torch.int64)
        memory = {
            # The same at every step, so made once.
            "keys": self.score.project_keys(states),
            "values": rows["tape"] if self.deep else states,
            "may_look": padding_mask(src_lengths, src.shape[1]),
            "last": rows["tape"].take_along_dim(last, dim=1)[:, 0],
        }
        return memory, weights

    def start(self, memory: Rows) -> Rows:
        hidden, cell = memory["last"].chunk(2, dim=-1)
        state = self.decoder.write(self.decoder.start(len(hidden)), hidden, cell)
        # γ~ before there is any; shallow fusion asks with the hidden state and has no use for it.
        return state | {"source_summary": torch.zeros_like(state["summary"])} if self.deep else state

    def embed(self, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt embed"]:
        return self.words.target(tokens)

    def walk(
        self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]
    ) -> tuple[Float[Tensor, "batch feature"], Rows, Float[Tensor, "batch layers heads src"]]:
        hidden, state, weights, _ = self._move(memory, state, embedded)
        return hidden, state, weights[:, None]  # (batch, 1, 1, src)

    def logits(self, features: Float[Tensor, "... feature"]) -> Float[Tensor, "... vocab"]:
        return self.words.logits(self.output(self.dropout(features)))

    def all_weights(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Rows:
        """On both tapes, too. The decoder's has a column in front: what the source ended in."""
        check_sentences(src, src_lengths, self.config)
        check_target(tgt_in, self.config)
        memory, encoder = self._read(src, src_lengths, with_weights=True)
        state, cross, decoder = self.start(memory), [], []
        for embedded in self.embed(tgt_in).unbind(dim=1):
            _, state, looked, own = self._move(memory, state, embedded)
            cross.append(looked)
            decoder.append(F.pad(own, (0, tgt_in.shape[1] + 1 - own.shape[1])))
        found = {"encoder": encoder, "decoder": torch.stack(decoder, dim=1), "cross": torch.cat(cross, dim=1)}
        return {use: weights[:, None, None] for use, weights in found.items()}  # one layer, one head

    def _move(self, memory: Rows, state: Rows, embedded: Tensor) -> tuple[Tensor, Rows, Tensor, Tensor]:
        """Read a word: its hidden state, the new state, its weights at the source and on the own tape."""
        if self.deep:
            both, weights = self._ask(memory, torch.cat([embedded, state["source_summary"]], dim=-1))
            source_summary, source_memory = both.chunk(2, dim=-1)
            gate = torch.sigmoid(self.gate(torch.cat([source_summary, embedded], dim=-1)))
            hidden, state, own = self.decoder(embedded, state, added=gate * source_memory)
            return hidden, state | {"source_summary": source_summary}, weights, own
        newest, _ = state["tape"][:, -1].chunk(2, dim=-1)
        context, weights = self._ask(memory, newest)
        hidden, state, own = self.decoder(torch.cat([embedded, context], dim=-1), state)
        return hidden, state, weights, own

    def _ask(self, memory: Rows, query: Tensor) -> tuple[Tensor, Tensor]:
        context, weights = attend(
            query[:, None],
            memory["keys"],
            memory["values"],
            may_look=memory["may_look"],
            score=self.score.score_projected,
        )
        return context[:, 0], weights
