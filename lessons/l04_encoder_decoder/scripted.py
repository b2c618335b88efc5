"""A translator without weights that generates a given sequence: for trying out decoders.

    >>> model = Scripted([7, 8])
    >>> memory = model.encode(torch.tensor([[5, 6, EOS]]), torch.tensor([3]))
    >>> logits, state, _ = model.step(memory, model.start(memory), torch.tensor([BOS]))
    >>> int(logits.argmax())
    7

It has the interface of every translator: encode, start, step, decode. It generates its words in order, then
EOS, provided that it is called correctly: the source must end with EOS, and every step must be given the last
state and the last word generated. After a wrong call it generates `LOST` forever.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.rows import Rows
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS

N_TOKENS = 12  # at least
LOST = 4  # an ordinary word
# All logits are negative, so a decoder that takes the largest absolute value fails. They differ so little
# that one that samples fails too.
UNLIKELY, LIKELY = -1.5, -0.5


class Scripted:
    """Generates `words`, then EOS; with `endless`, the words repeat. It takes a batch of one sentence."""

    def __init__(self, words: Sequence[int], *, endless: bool = False):
        self.words, self.endless = tuple(words), endless
        self.n_tokens = max(N_TOKENS, *(word + 1 for word in words)) if words else N_TOKENS

    def __repr__(self) -> str:
        return f"Scripted({list(self.words)}{', endless=True' if self.endless else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scripted) and repr(self) == repr(other)

    __hash__ = None

    def encode(self, src: Int[Tensor, "1 src"], src_lengths: Int[Tensor, " 1"]) -> Rows:
        if not (isinstance(src, Tensor) and src.ndim == 2):
            raise TypeError(
                "`encode` needs the token ids as a tensor of shape (1, n), a batch of one sentence"
            )
        if not (isinstance(src_lengths, Tensor) and src_lengths.ndim == 1):
            raise TypeError(
                "`encode` needs the length as a tensor of shape (1,), for example torch.tensor([4])"
            )
        *source, last = src[0].tolist()
        is_correct = last == EOS and not {BOS, EOS} & {*source} and int(src_lengths[0]) == src.shape[1]
        return {"is_correct": torch.tensor([is_correct])}

    def start(self, memory: Rows) -> Rows:
        """The state holds all tokens read so far."""
        return {"prefix": torch.empty(1, 0, dtype=torch.long)}

    def step(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " 1"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "1 vocab"], Rows, None]:
        if not isinstance(tokens, Tensor):
            raise TypeError(
                "`step` needs the previous token as a tensor of shape (1,), torch.tensor([token])"
            )
        wrong_start = torch.tensor([[LOST]])  # a state that didn't come from `start`
        prefix = torch.cat([state.get("prefix", wrong_start), tokens.reshape(1, 1)], dim=1)
        word = self._next(prefix[0].tolist()) if bool(memory["is_correct"][0]) else LOST
        logits = torch.full((1, self.n_tokens), UNLIKELY)
        logits[0, word] = LIKELY
        return logits, {"prefix": prefix}, None

    def decode(
        self, memory: Rows, tgt_in: Int[Tensor, "1 tgt"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "1 tgt vocab"], None]:
        """Teacher forcing: the logits after each of these tokens."""
        state, steps = self.start(memory), []
        for token in tgt_in[0]:
            logits, state, _ = self.step(memory, state, token.reshape(1))
            steps.append(logits)
        return torch.stack(steps, dim=1), None

    def _next(self, prefix: list[int]) -> int:
        n_generated = len(prefix) - 1
        script = [*self.words, EOS]
        if self.endless:
            script = [self.words[position % len(self.words)] for position in range(n_generated + 1)]
        follows = n_generated < len(script) and prefix == [BOS, *script[:n_generated]]
        return script[n_generated] if follows else LOST
