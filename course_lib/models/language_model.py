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
from course_lib.models.inputs import check_target, check_tokens
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Float, Int, Tensor


class LanguageModel(nn.Module, ABC):
    """A system that predicts the next word after each word."""

    attends: ClassVar[bool] = False

    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def decode(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool = False) -> Decoded:
        """Logits for the word after each word, and the attention weights if requested."""
        check_target(tokens, self.config)
        return self.say(tokens, with_weights=with_weights)

    def step(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool = False) -> Stepped:
        """Process one word per row: logits for the next one, the new state, weights if requested."""
        check_tokens(tokens, self.config)
        return self.advance(state, tokens, with_weights=with_weights)

    def forward(self, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt vocab"]:
        """The logits, for training."""
        return self.decode(tokens)[0]

    @abstractmethod
    def start(self, n_rows: int) -> Rows:
        """The state of `n_rows` rows before the first word, on the model's device."""

    @abstractmethod
    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        """`decode`, after its input has been checked."""

    @abstractmethod
    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        """`step`, after its input has been checked."""
