"""The interface of all language models: process a whole text at once, or word by word.

    logits, weights = model.decode(tokens, with_weights=True)           # (batch, tgt, vocab)

    state = model.start(n_rows=2)
    logits, state, weights = model.step(state, tokens)                  # (batch, vocab)

It is a translator's decoder without a source. Attention weights are over earlier words: (batch, layers,
heads, tgt, tgt) from `decode`, (batch, layers, heads, seen) from `step`, where the last of the `seen` words
is the newest. They are None for a model without attention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import nn

from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.inputs import check_ids, check_rows
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Float, Tensor


class LanguageModel(nn.Module, ABC):
    """A system that predicts the next word after each word."""

    attends: ClassVar[bool] = False

    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def decode(self, tokens: Target, *, with_weights: bool = False) -> Decoded:
        check_ids("tgt_in", tokens, ("batch", "tgt"), self.config)
        return self.say(tokens, with_weights=with_weights)

    def step(self, state: Rows, tokens: Tokens, *, with_weights: bool = False) -> Stepped:
        check_ids("tokens", tokens, ("batch",), self.config)
        check_rows(tokens, state)
        return self.advance(state, tokens, with_weights=with_weights)

    def forward(self, tokens: Target) -> Float[Tensor, "batch tgt vocab"]:
        """The logits, for training."""
        return self.decode(tokens)[0]

    @abstractmethod
    def start(self, n_rows: int) -> Rows:
        """The state of `n_rows` rows before the first word, on the model's device."""

    @abstractmethod
    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        """`decode`, after its input has been checked."""

    @abstractmethod
    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        """`step`, after its input has been checked."""
