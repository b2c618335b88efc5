"""The first neural language model: the last few embeddings, concatenated, and one hidden layer (2003).

    Bengio, Ducharme, Vincent, Jauvin 2003    A Neural Probabilistic Language Model

    x = [word_{t-n+1}; ...; word_t]                      n embeddings, concatenated
    next word = softmax(U tanh(d + H x) + b)

New: word embeddings that are learnt together with the task, so that "the cat drank" helps with "the dog
drank". The number of parameters grows linearly with n, not exponentially; but the window is fixed.

Where this differs from the paper:
- The optional direct connection from x to the output is left out.
- The hidden layer is projected to the width of the embeddings, so that the output layer can share their
  matrix (`tied`); the paper's output matrix U maps directly to the vocabulary.
- Before the first word the window contains PAD, which has an embedding like any word.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.convolution import last_words, slide
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Tensor
from course_lib.text.special import PAD


@dataclass(frozen=True, kw_only=True)
class WindowMLPConfig(Config):
    """`window` is the number of input words: the model corresponds to an n-gram of order window + 1."""

    embed: int
    hidden: int
    window: int = 4


class WindowMLP(LanguageModel):
    """One hidden layer over a window of embeddings."""

    def __init__(self, config: WindowMLPConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.to_hidden = nn.Linear(config.window * config.embed, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def start(self, n_rows: int) -> Rows:
        device = self.to_hidden.weight.device
        return {"window": torch.full((n_rows, self.config.window), PAD, device=device)}

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        return self._logits(last_words(tokens, self.config.window, fill=PAD)), None

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        window = slide(state["window"], tokens)
        return self._logits(window), {"window": window}, None

    def _logits(self, window: Tensor) -> Tensor:
        embedded = self.words.target(window).flatten(-2)  # (..., window · embed)
        return self.words.logits(self.to_embed(self.dropout(torch.tanh(self.to_hidden(embedded)))))
