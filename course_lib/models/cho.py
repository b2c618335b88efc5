"""RNN encoder-decoder: the source is encoded as one vector, which the decoder uses at every word (2014).

    Cho, van Merriënboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio 2014
        Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation

New: two recurrent networks trained jointly, and the gated unit now called GRU. The context vector c has the
same size for any sentence, so quality drops with length.

    c = tanh(V h_T)                                      the context vector, from the last state
    h'_0 = tanh(V' c)                                    it initialises the decoder,
    h'_t = GRU([word_t; c], h'_{t-1})                    is an input at every word,
    next word = softmax(G maxout(O [h'_t; word_t; c]))   and an input of the output layer

Where this differs from the paper:
- Reset gates are applied after the product with U (`layers/cells.py`), and none scales c. This allows a
  single fused call for the whole target in training.
- The source ends with EOS, and the decoder's first input is BOS; the paper starts from zeros.
- The maxout layer is as wide as the embeddings, and G is the embedding matrix if `tied`; the paper
  factorises G.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.feed_forward import Maxout
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.shapes import Tensor


@dataclass(frozen=True, kw_only=True)
class ChoConfig(Config):
    """The context vector has the same width as a state, `hidden`."""

    embed: int
    hidden: int


class Cho(Translator):
    """A GRU encoder, a GRU decoder, and one context vector that is used at every target word."""

    attends = False

    def __init__(self, config: ChoConfig):
        super().__init__(config)
        embed, hidden = config.embed, config.hidden
        self.words = Embeddings(config, embed=embed)
        self.encoder = Recurrent(kind="gru", input_size=embed, hidden=hidden)
        self.to_context = nn.Linear(hidden, hidden)
        self.to_start = nn.Linear(hidden, hidden)
        self.decoder = Recurrent(kind="gru", input_size=embed + hidden, hidden=hidden)
        self.output = Maxout(input_size=hidden + embed + hidden, output_size=embed)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        _, last = self.encoder(self.words.source(src), lengths=src_lengths)
        return {"context": torch.tanh(self.to_context(last["hidden"][:, 0]))}

    def start(self, memory: Rows) -> Rows:
        return {"hidden": torch.tanh(self.to_start(memory["context"]))[:, None]}

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        embedded = self.words.target(tgt_in)
        context = memory["context"][:, None].expand(-1, tgt_in.shape[1], -1)  # the same at every word
        hidden, _ = self.decoder(torch.cat([embedded, context], dim=-1), self.start(memory))
        return self._logits(hidden, embedded, context), None

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        embedded, context = self.words.target(tokens), memory["context"]
        hidden, state = self.decoder.step(torch.cat([embedded, context], dim=-1), state)
        return self._logits(hidden, embedded, context), state, None

    def _logits(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        features = torch.cat([hidden, embedded, context], dim=-1)
        return self.words.logits(self.dropout(self.output(features)))
