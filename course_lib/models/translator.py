"""The one interface of all translators: encode a source, decode a target whole or a step at a time.

    memory = system.encode(src, src_lengths)
    logits, weights = system.decode(memory, tgt_in, with_weights=True)     # teacher forcing, all at once

    state = system.start(memory)                                           # or word by word
    logits, state, weights = system.step(memory, state, tokens, with_weights=True)

`memory` and `state` are rows (`layers/rows.py`): beam search takes, repeats and reorders them without
knowing what is in them. Training, decoding, plots and the museum know this interface and nothing else.

Attention weights have one shape for all: (batch, layers, heads, tgt, src) from `decode`, and
(batch, layers, heads, src) from `step`. A system that attends once has 1 layer and 1 head; a system
that does not attend gives None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.inputs import check_sentences, check_target, check_tokens
from course_lib.shapes import Float, Int, Tensor

Decoded = tuple[Float[Tensor, "batch tgt vocab"], Float[Tensor, "batch layers heads tgt seen"] | None]
"""What `decode` gives, of a language model too: logits, and over the words seen the weights if asked for."""

Stepped = tuple[Float[Tensor, "batch vocab"], Rows, Float[Tensor, "batch layers heads seen"] | None]
"""What `step` gives: logits for the next word, the new state, the weights if asked for."""


class Translator(nn.Module, ABC):
    """A system that reads a source sentence and says the target, one word after another."""

    attends: ClassVar[bool] = True
    """Whether it looks back at the source words, and so has weights to show."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def encode(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        """All that the decoder will ever know of the source. `src` ends with EOS, then PAD."""
        check_sentences(src, src_lengths, self.config)
        return self.read(src, src_lengths)

    def decode(
        self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool = False
    ) -> Decoded:
        """Teacher forcing: logits for the word after each word of `tgt_in`, and the weights if asked for."""
        check_target(tgt_in, self.config)
        return self.say(memory, tgt_in, with_weights=with_weights)

    def step(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool = False
    ) -> Stepped:
        """Read one word a sentence: logits for the next one, the new state, the weights if asked for."""
        check_tokens(tokens, self.config)
        return self.advance(memory, state, tokens, with_weights=with_weights)

    def forward(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Encode, then decode: what training calls."""
        return self.decode(self.encode(src, src_lengths), tgt_in)[0]

    def all_weights(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Rows:
        """The weights of every attention, axes as from `decode`: at the source ("cross"), and of a system
        with self-attention those at its own words ("encoder" and "decoder")."""
        _, weights = self.decode(self.encode(src, src_lengths), tgt_in, with_weights=True)
        return {"cross": weights} if self.attends else {}

    @abstractmethod
    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        """`encode`, once the input is known to be sound."""

    @abstractmethod
    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        """`decode`, once the input is known to be sound."""

    @abstractmethod
    def start(self, memory: Rows) -> Rows:
        """The decoder's state before the first word (BOS) is read."""

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        """`step`, once the input is known to be sound; a system may as well bring a `step` of its own."""
        raise NotImplementedError(f"{type(self).__name__} needs `advance`, or a `step` of its own.")


class SteppingTranslator(Translator):
    """A translator whose next state needs the last context: it has to walk, in training too.

    It gives `walk`, one step short of the vocabulary, and both ways of decoding follow. The costly
    product with the vocabulary is then made once for the whole sentence.
    """

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        state, features, weights = self.start(memory), [], []
        for embedded in self.embed(tgt_in).unbind(dim=1):
            feature, state, looked = self.walk(memory, state, embedded)
            features.append(feature)
            weights.append(looked)
        logits = self.logits(torch.stack(features, dim=1))
        return logits, torch.stack(weights, dim=3) if with_weights else None

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        feature, state, weights = self.walk(memory, state, self.embed(tokens[:, None])[:, 0])
        return self.logits(feature), state, weights if with_weights else None

    @abstractmethod
    def embed(self, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt embed"]:
        """Target words as vectors."""

    @abstractmethod
    def walk(
        self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]
    ) -> tuple[Float[Tensor, "batch feature"], Rows, Float[Tensor, "batch layers heads src"]]:
        """One step, short of the vocabulary: what the next word is told from, the state, the weights."""

    @abstractmethod
    def logits(self, features: Float[Tensor, "... feature"]) -> Float[Tensor, "... vocab"]:
        """A score for every word of the vocabulary."""
