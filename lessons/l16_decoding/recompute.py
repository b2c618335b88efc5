"""Decoding without a cache: at every step the whole sentence so far is decoded again.

    slow = Recompute(system)                                # same outputs as `system`, no cache
    greedy(slow, memory, max_len=40)

A sentence of 64 words costs 1 + 2 + … + 64 = 2,080 word computations instead of 64. The cached search
must equal it: the tests and `bench decoding` compare the two.
"""

from __future__ import annotations

import torch

from course_lib.layers.rows import Rows
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Int, Tensor


class Recompute(Translator):
    """A system whose state holds only the words so far."""

    def __init__(self, system: Translator):
        super().__init__(system.config)
        self.system = system

    @property
    def attends(self) -> bool:
        return self.system.attends

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        return self.system.read(src, src_lengths)

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        return self.system.say(memory, tgt_in, with_weights=with_weights)

    def start(self, memory: Rows) -> Rows:
        first = next(iter(memory.values()))
        return {"words": torch.empty(len(first), 0, dtype=torch.int64, device=first.device)}

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        words = torch.cat([state["words"], tokens[:, None]], dim=1)
        logits, weights = self.system.decode(memory, words, with_weights=with_weights)
        return logits[:, -1], {"words": words}, None if weights is None else weights[..., -1, :]
