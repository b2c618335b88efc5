"""Recurrent language models: an RNN, an LSTM or a GRU compresses the whole past into one state.

    Tomáš Mikolov et al. 2010       Recurrent Neural Network based Language Model   (kind "rnn")
    Martin Sundermeyer et al. 2012  LSTM Neural Networks for Language Modeling      (kind "lstm")
    Kyunghyun Cho et al. 2014       Learning Phrase Representations using RNN Encoder-Decoder (the GRU)

    h_t = cell(word_t, h_{t-1})
    next word = softmax(O h_t)

New: no fixed window. In principle the state can carry information over any distance; the gates of LSTM and
GRU achieve this over tens of words, while the gradient of a plain RNN vanishes after a few.

Where this differs from the papers:
- States are projected to the width of the embeddings, so that the output layer can share their matrix
  (`tied`), and the softmax is over the whole vocabulary, without word classes.
- Mikolov's RNN has a sigmoid, ours has tanh, and each sentence starts from a state of zeros.
- The GRU is torch's, with the reset gate after the product (`layers/cells.py`); the LSTM's forget bias
  starts at 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Tensor


@dataclass(frozen=True, kw_only=True)
class RecurrentLMConfig(Config):
    """`kind` is rnn, lstm or gru."""

    kind: str
    embed: int
    hidden: int
    n_layers: int = 1


class RecurrentLM(LanguageModel):
    """Embeddings, a stack of recurrent layers, and an output layer."""

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

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        # No lengths: padding is always on the right, where it can't affect earlier words.
        hidden, _ = self.recurrent(self.words.target(tokens))
        return self._logits(hidden), None

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        hidden, state = self.recurrent.step(self.words.target(tokens), state)
        return self._logits(hidden), state, None

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
