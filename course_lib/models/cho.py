"""RNN encoder-decoder: the source is encoded as one vector, which the decoder uses at every word (2014).

    Kyunghyun Cho, Bart van Merriënboer, Caglar Gulcehre, Dzmitry Bahdanau, Fethi Bougares, Holger Schwenk,
    Yoshua Bengio 2014    Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
                          Translation

What was new: two recurrent networks trained jointly, and the gated unit now called GRU.

    c = tanh(V h_T)                                      the context vector, from the last state
    h'_0 = tanh(V' c)                                    it initialises the decoder,
    h'_t = GRU([word_t; c], h'_{t-1})                    is an input at every word,
    next word = softmax(G maxout(O [h'_t; word_t; c]))   and an input of the output layer

What was still missing: c has the same few hundred numbers for a sentence of five words and of fifty. The
authors used it to score short phrases for a phrase-based system, and later showed that its quality drops
with length (Cho et al. 2014, On the Properties of Neural Machine Translation).

Where this differs from the paper:
- In the encoder's GRU the reset gate is applied after the product with U, as in cuDNN, not before it
  (`layers/cells.py`). In the paper's decoder the reset gate also scales C c; here c is concatenated with the
  word, so no gate affects it. Both changes allow a single fused call for the whole target in training.
- The source ends with EOS, and the decoder's first input is BOS; the paper starts from zeros.
- The paper factorises its output matrix G with an inner dimension of 100. Here the maxout layer is as wide as
  the embeddings, and G is the embedding matrix if `tied`.
- Widths come from the config (the paper: words 100, states 1000, maxout 500), and there is dropout.
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
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Int, Tensor


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

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        _, last = self.encoder(self.words.source(src), lengths=src_lengths)
        return {"context": torch.tanh(self.to_context(last["hidden"][:, 0]))}

    def start(self, memory: Rows) -> Rows:
        return {"hidden": torch.tanh(self.to_start(memory["context"]))[:, None]}

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        embedded = self.words.target(tgt_in)
        context = memory["context"][:, None].expand(-1, tgt_in.shape[1], -1)  # the same at every word
        hidden, _ = self.decoder(torch.cat([embedded, context], dim=-1), self.start(memory))
        return self._logits(hidden, embedded, context), None

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        embedded, context = self.words.target(tokens), memory["context"]
        hidden, state = self.decoder.step(torch.cat([embedded, context], dim=-1), state)
        return self._logits(hidden, embedded, context), state, None

    def _logits(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        features = torch.cat([hidden, embedded, context], dim=-1)
        return self.words.logits(self.dropout(self.output(features)))
