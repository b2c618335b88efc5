"""A task that measures memory: repeat a symbol a given number of steps after it was read.

    >>> task = recall(torch.Generator().manual_seed(0), batch_size=2, distance=3, vocab_size=16)
    >>> task.tokens                                         # MARK (5), the symbol, two others, ASK (4)
    tensor([[ 5, 15,  9,  6,  4],
            [ 5, 13,  9, 13,  4]])
    >>> task.targets                                        # PAD (0) where nothing is asked
    tensor([[ 0,  0,  0,  0, 15],
            [ 0,  0,  0,  0, 13]])

A model reads `tokens` and predicts a token at every position; the prediction at the ASK is scored. The answer
is not among the tokens after the ASK, so that recurrent models and models that attend to all positions can be
compared. Ids from 6 on are symbols, below them are the special tokens, ASK and MARK.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from course_lib.shapes import Bool, Int, Tensor
from course_lib.text.special import PAD, SPECIAL

ASK = len(SPECIAL)  # "answer here"
MARK = ASK + 1  # "remember the next one"
FIRST_SYMBOL = MARK + 1


class RecallTask(NamedTuple):
    """The tokens to read, the target at each position, and the positions that are scored."""

    tokens: Int[Tensor, "batch positions"]
    targets: Int[Tensor, "batch positions"]
    counts: Bool[Tensor, "batch positions"]


def recall(
    generator: torch.Generator, *, batch_size: int, distance: int, vocab_size: int, lead: int = 0
) -> RecallTask:
    """A batch: the target at the ASK is the symbol after the MARK, `distance` steps before it.

    Each row has a random number of symbols before the MARK, at most `lead`, and PAD after the ASK. With a
    lead, only the MARK shows which symbol to remember, not its position.
    """
    if distance < 1 or vocab_size < FIRST_SYMBOL + 2:
        raise ValueError(
            f"Expected a distance of 1 or more, and a vocab_size of at least {FIRST_SYMBOL + 2}, as ids 0 to "
            f"{MARK} are special and one symbol alone is never wrong, but got {distance} and {vocab_size}."
        )
    length = lead + distance + 2
    tokens = torch.randint(FIRST_SYMBOL, vocab_size, (batch_size, length), generator=generator)
    mark = torch.randint(lead + 1, (batch_size, 1), generator=generator)
    answer, ask = mark + 1, mark + 1 + distance
    targets = torch.full_like(tokens, PAD).scatter(1, ask, tokens.gather(1, answer))
    tokens = tokens.scatter(1, mark, MARK).scatter(1, ask, ASK)
    tokens = tokens.masked_fill(torch.arange(length) > ask, PAD)
    return RecallTask(tokens, targets, tokens == ASK)
