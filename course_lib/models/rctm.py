"""RCTM: convolutions encode the source as one vector, and a recurrent network decodes it (2013).

    Nal Kalchbrenner, Phil Blunsom 2013    Recurrent Continuous Translation Models   (its model I)

New: the first modern translation model that is a single neural network. There is no phrase table and no
alignment: the source becomes one vector, which is an input at every target word.

    s = S · vector(source)                              layers/sentence_convolution.py
    h_t = tanh(I · word_t + R · h_{t-1} + s)            word_t is the previous target word
    next word = softmax(O · h_t)

Where this differs from the paper:
- The output layer is a softmax over the whole vocabulary; the paper first predicts a class of words.
- Hidden states are projected to the width of the embeddings, so that the output layer can share their matrix
  (`tied`).
- The nonlinearity is tanh where the paper writes a general σ. There are biases and dropout.
- The last kernel, if it is wider than the remaining columns, is truncated to its first columns; and EOS is
  encoded together with the words.
- Model II, which reduces the source only partly and expands it again with convolutions, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.layers.sentence_convolution import SentenceConvolution
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.shapes import Tensor


@dataclass(frozen=True, kw_only=True)
class RCTMConfig(Config):
    """`max_len` also determines the number of kernels, about √(2 · max_len)."""

    embed: int
    hidden: int


class RCTM(Translator):
    """A convolutional encoder and a recurrent decoder, with one vector between them."""

    attends = False

    def __init__(self, config: RCTMConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed)
        self.folding = SentenceConvolution(embed=config.embed, max_len=config.max_len)
        # Its input is [word; sentence], so its matrix is the concatenation of the paper's I and S.
        self.decoder = Recurrent(kind="rnn", input_size=2 * config.embed, hidden=config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        return {"sentence": self.folding(self.words.source(src), src_lengths)}

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        states, _ = self.decoder(self._inputs(memory, tgt_in), self.start(memory))
        return self._logits(states), None

    def start(self, memory: Rows) -> Rows:
        return self.decoder.zeros(len(memory["sentence"]))

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        hidden, state = self.decoder.step(self._inputs(memory, tokens[:, None])[:, 0], state)
        return self._logits(hidden), state, None

    def _inputs(self, memory: Rows, tokens: Tensor) -> Tensor:
        """Each target word concatenated with the sentence vector: (batch, tgt, 2 · embed)."""
        words = self.words.target(tokens)
        return torch.cat([words, memory["sentence"].unsqueeze(1).expand_as(words)], dim=-1)

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
