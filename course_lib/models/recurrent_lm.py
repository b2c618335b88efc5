"""Recurrent language models: the whole past squeezed into one state, by an RNN, an LSTM or a GRU.

    Tomáš Mikolov et al. 2010       Recurrent Neural Network based Language Model   (kind "rnn")
    Martin Sundermeyer et al. 2012  LSTM Neural Networks for Language Modeling      (kind "lstm")
    Kyunghyun Cho et al. 2014       Learning Phrase Representations using RNN Encoder-Decoder (the GRU)

    h_t = cell(word_t, h_{t-1})
    next word = softmax(O h_t)

What was new: no window. In principle the state can carry something from any distance, and the number of
weights does not grow with it. LSTM and GRU, with their gates, make it true over tens of words, where the
plain RNN's gradient has vanished after a few.

What was still missing: the state has a fixed size, so what comes in pushes something out; a word's way
to a later one goes through every word between; and the words must be read in turn, so training cannot
work on all of them at once.

Where this differs from the papers:
- States are mapped to the width of the embeddings before the output, so that the output can share its
  table (`tied`). Mikolov and Sundermeyer sped their output up with classes of words; here it is whole.
- Mikolov's RNN squashes with a sigmoid, ours with tanh, and each sentence starts from a state of zeros.
- The GRU is torch's, with the reset gate after the product (`layers/cells.py`); the LSTM's forget
  biases start at 1. Any kind may be stacked, with dropout between.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Int, Tensor


@dataclass(frozen=True, kw_only=True)
class RecurrentLMConfig(Config):
    """`kind` is rnn, lstm or gru."""

    kind: str
    embed: int
    hidden: int
    n_layers: int = 1


class RecurrentLM(LanguageModel):
    """Words in, a stack of recurrent layers, words out."""

    def __init__(self, config: RecurrentLMConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.recurrent = Recurrent(
            kind=config.kind,
            input_size=config.embed,
            hidden=config.hidden,
            n_layers=config.n_layers,
            dropout=config.dropout,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def start(self, n_rows: int) -> Rows:
        return self.recurrent.zeros(n_rows)

    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        # No lengths: padding is only ever at the right, where it cannot change what came before it.
        hidden, _ = self.recurrent(self.words.target(tokens))
        return self._logits(hidden), None

    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        hidden, state = self.recurrent.step(self.words.target(tokens), state)
        return self._logits(hidden), state, None

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
