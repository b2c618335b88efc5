"""The interface of all translators: encode a source, then decode a target at once or step by step.

    memory = system.encode(src, src_lengths)
    logits, weights = system.decode(memory, tgt_in, with_weights=True)     # teacher forcing, all positions

    state = system.start(memory)                                           # or one position at a time
    logits, state, weights = system.step(memory, state, tokens, with_weights=True)

`memory` and `state` are rows (`layers/rows.py`): beam search selects, repeats and reorders them without
knowing their content. Training, decoding and plots use only this interface.

Attention weights have the shape (batch, layers, heads, tgt, src) from `decode`, and (batch, layers, heads,
src) from `step`. A system that attends once per word has 1 layer and 1 head; for a system without attention
they are None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.inputs import check_ids, check_rows, check_sentences
from course_lib.shapes import Float, Int, Tensor

Source = Int[Tensor, "batch src"]
Target = Int[Tensor, "batch tgt"]
Tokens = Lengths = Int[Tensor, " batch"]

Decoded = tuple[Float[Tensor, "batch tgt vocab"], Float[Tensor, "batch layers heads tgt seen"] | None]
"""What `decode` returns, also for a language model: logits, and the attention weights if requested."""

Stepped = tuple[Float[Tensor, "batch vocab"], Rows, Float[Tensor, "batch layers heads seen"] | None]
"""What `step` returns: logits for the next word, the new state, the attention weights if requested."""

Walked = tuple[Float[Tensor, "batch feature"], Rows, Float[Tensor, "batch layers heads src"]]
"""What `walk` returns: features for the output layer, the new state, the attention weights."""


class Translator(nn.Module, ABC):
    """A system that encodes a source sentence and generates the target word by word."""

    attends: ClassVar[bool] = True
    """Whether it has attention over the source words."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def encode(self, src: Source, src_lengths: Lengths) -> Rows:
        """Everything the decoder needs of the source. `src` ends with EOS, then PAD."""
        check_sentences(src, src_lengths, self.config)
        return self.read(src, src_lengths)

    def decode(self, memory: Rows, tgt_in: Target, *, with_weights: bool = False) -> Decoded:
        """Teacher forcing: logits for the word after each word of `tgt_in`."""
        check_ids("tgt_in", tgt_in, ("batch", "tgt"), self.config)
        check_rows(tgt_in, memory)
        return self.say(memory, tgt_in, with_weights=with_weights)

    def step(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool = False) -> Stepped:
        """Process one word per sentence."""
        check_ids("tokens", tokens, ("batch",), self.config)
        check_rows(tokens, memory, state)
        return self.advance(memory, state, tokens, with_weights=with_weights)

    def forward(self, src: Source, src_lengths: Lengths, tgt_in: Target) -> Float[Tensor, "batch tgt vocab"]:
        """The logits with teacher forcing, for training."""
        return self.decode(self.encode(src, src_lengths), tgt_in)[0]

    def attention_weights(self, src: Source, src_lengths: Lengths, tgt_in: Target) -> Rows:
        """The attention weights by use: "cross", and for self-attention "encoder" and "decoder", if any."""
        _, weights = self.decode(self.encode(src, src_lengths), tgt_in, with_weights=True)
        return {"cross": weights} if self.attends else {}

    @abstractmethod
    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        """`encode`, after its input has been checked."""

    @abstractmethod
    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        """`decode`, after its input has been checked."""

    @abstractmethod
    def start(self, memory: Rows) -> Rows:
        """The decoder's state before its first input (BOS)."""

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        """`step`, after its input has been checked. A system may override `step` instead."""
        raise NotImplementedError(f"{type(self).__name__} must define `advance`, or its own `step`.")


class SteppingTranslator(Translator):
    """A translator whose next state depends on the last context, so that even training proceeds step by step.

    A subclass has embeddings, `words`, and implements `walk`, one step without the output layer. The output
    layer, which is expensive, is applied once to the whole sentence.
    """

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        state, features, weights = self.start(memory), [], []
        for embedded in self.embed(tgt_in).unbind(dim=1):
            feature, state, step_weights = self.walk(memory, state, embedded)
            features.append(feature)
            weights.append(step_weights)
        logits = self.logits(torch.stack(features, dim=1))
        return logits, torch.stack(weights, dim=3) if with_weights else None

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        feature, state, weights = self.walk(memory, state, self.embed(tokens[:, None])[:, 0])
        return self.logits(feature), state, weights if with_weights else None

    def embed(self, tokens: Target) -> Float[Tensor, "batch tgt embed"]:
        return self.words.target(tokens)

    @abstractmethod
    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> Walked:
        """One step without the output layer."""

    @abstractmethod
    def logits(self, features: Float[Tensor, "... feature"]) -> Float[Tensor, "... vocab"]:
        """The output layer."""
