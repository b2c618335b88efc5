"""A translator without weights, that says what it was told to: for trying out decoders.

    >>> model = Scripted([7, 8])
    >>> memory = model.encode(torch.tensor([[5, 6, EOS]]), torch.tensor([3]))
    >>> logits, state, _ = model.step(memory, model.start(memory), torch.tensor([BOS]))
    >>> int(logits.argmax())
    7

It has the interface of every translator: encode, start, step, decode. It says its words one after another,
then EOS, as long as it is driven well: the source must end with EOS, and at every step it must get its last
state and the word it said last. Else it is lost, and says `LOST` for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.rows import Rows
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS

VOCABULARY = 12
LOST = 4  # a word like any other
UNLIKELY, LIKELY = -9.0, -0.5  # no logit is above 0, and most are large in size: only the largest counts


class Scripted:
    """Says `words`, then EOS; with `endless`, the words over and over. For one sentence at a time."""

    def __init__(self, words: Sequence[int], *, endless: bool = False):
        self.words, self.endless = tuple(words), endless

    def __repr__(self) -> str:
        return f"Scripted({list(self.words)}{', endless=True' if self.endless else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scripted) and repr(self) == repr(other)

    __hash__ = None

    def encode(self, src: Int[Tensor, "1 src"], src_lengths: Int[Tensor, " 1"]) -> Rows:
        read_well = int(src[0, -1]) == EOS and int(src_lengths[0]) == src.shape[1]
        return {"read_well": torch.tensor([read_well])}

    def start(self, memory: Rows) -> Rows:
        """The state holds all words read so far."""
        return {"heard": torch.empty(1, 0, dtype=torch.long)}

    def step(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " 1"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "1 vocab"], Rows, None]:
        heard = torch.cat([state["heard"], tokens.reshape(1, 1)], dim=1)
        word = self._next(heard[0].tolist()) if bool(memory["read_well"][0]) else LOST
        logits = torch.full((1, VOCABULARY), UNLIKELY)
        logits[0, word] = LIKELY
        return logits, {"heard": heard}, None

    def decode(
        self, memory: Rows, tgt_in: Int[Tensor, "1 tgt"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "1 tgt vocab"], None]:
        """Teacher forcing: what it would say after each of these words."""
        state, said = self.start(memory), []
        for token in tgt_in[0]:
            logits, state, _ = self.step(memory, state, token.reshape(1))
            said.append(logits)
        return torch.stack(said, dim=1), None

    def _next(self, heard: list[int]) -> int:
        n_said = len(heard) - 1
        script = [*self.words, EOS]
        if self.endless:
            script = [self.words[place % len(self.words)] for place in range(n_said + 1)]
        return script[n_said] if n_said < len(script) and heard == [BOS, *script[:n_said]] else LOST
