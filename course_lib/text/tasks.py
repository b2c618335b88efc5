"""Four tiny tasks that measure one ability each: recall over a distance, copy, reverse, sort.

    >>> task = reverse(torch.Generator().manual_seed(0), batch_size=1, length=3, vocab_size=16)
    >>> task.tokens                                         # three symbols, then three times "?" (4)
    tensor([[10, 15,  9,  4,  4,  4]])
    >>> task.targets                                        # PAD (0) where nothing is asked
    tensor([[ 0,  0,  0,  9, 15, 10]])
    >>> task.counts
    tensor([[False, False, False,  True,  True,  True]])

All four have one form: a model reads `tokens` and says something at every position, and what it says
counts where an ASK stands. Nothing of the answer is ever among the tokens, so any model can be measured:
one that reads from left to right and must remember, or one that looks at all positions at once.
Symbols are the ids from 6 on, below them the special tokens, ASK and MARK.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from course_lib.shapes import Bool, Int, Tensor
from course_lib.text.special import PAD, SPECIAL

ASK = len(SPECIAL)  # "answer here"
MARK = ASK + 1  # "remember the next one"
FIRST_SYMBOL = MARK + 1


class Task(NamedTuple):
    """What a model reads, what it shall say at each position, and where that counts."""

    tokens: Int[Tensor, "batch positions"]
    targets: Int[Tensor, "batch positions"]
    counts: Bool[Tensor, "batch positions"]


def recall(
    generator: torch.Generator, *, batch_size: int, distance: int, vocab_size: int, lead: int = 0
) -> Task:
    """Say the symbol after the MARK again, `distance` steps after it was read.

        >>> task = recall(torch.Generator().manual_seed(0), batch_size=2, distance=3, vocab_size=16)
        >>> task.tokens                                     # MARK (5), the symbol, two others, ASK (4)
        tensor([[ 5, 15,  9,  6,  4],
                [ 5, 13,  9, 13,  4]])
        >>> task.targets
        tensor([[ 0,  0,  0,  0, 15],
                [ 0,  0,  0,  0, 13]])

    With `lead`, up to so many symbols come before the MARK, a number drawn for each row, and PAD behind
    the ASK: then only the mark tells which symbol matters, not its place.
    """
    _check(batch_size=batch_size, distance=distance, vocab_size=vocab_size)
    if lead < 0:
        raise ValueError(f"Expected a lead of 0 or more, but got {lead}.")
    tokens = _symbols(generator, batch_size, lead + distance + 2, vocab_size)
    mark = torch.randint(lead + 1, (batch_size, 1), generator=generator)
    answer, ask = mark + 1, mark + 1 + distance
    targets = torch.full_like(tokens, PAD).scatter(1, ask, tokens.gather(1, answer))
    tokens = tokens.scatter(1, mark, MARK).scatter(1, ask, ASK)
    tokens = tokens.masked_fill(torch.arange(tokens.shape[1]) > ask, PAD)
    return Task(tokens, targets, tokens == ASK)


def copy(generator: torch.Generator, *, batch_size: int, length: int, vocab_size: int) -> Task:
    """Say the symbols again, in the same order: the first one over a distance of `length`, and so all.

    >>> task = copy(torch.Generator().manual_seed(0), batch_size=1, length=3, vocab_size=16)
    >>> task.tokens, task.targets
    (tensor([[10, 15,  9,  4,  4,  4]]), tensor([[ 0,  0,  0, 10, 15,  9]]))
    """
    symbols = _sequence(generator, batch_size, length, vocab_size)
    return _ask(symbols, symbols)


def reverse(generator: torch.Generator, *, batch_size: int, length: int, vocab_size: int) -> Task:
    """Say the symbols again, last one first: short distances to begin with, then ever longer ones.

    >>> task = reverse(torch.Generator().manual_seed(0), batch_size=1, length=3, vocab_size=16)
    >>> task.tokens, task.targets
    (tensor([[10, 15,  9,  4,  4,  4]]), tensor([[ 0,  0,  0,  9, 15, 10]]))
    """
    symbols = _sequence(generator, batch_size, length, vocab_size)
    return _ask(symbols, symbols.flip(1))


def sort(generator: torch.Generator, *, batch_size: int, length: int, vocab_size: int) -> Task:
    """Say the symbols again, smallest first: where to look depends on what is there, not on the place.

    >>> task = sort(torch.Generator().manual_seed(0), batch_size=1, length=3, vocab_size=16)
    >>> task.tokens, task.targets
    (tensor([[10, 15,  9,  4,  4,  4]]), tensor([[ 0,  0,  0,  9, 10, 15]]))
    """
    symbols = _sequence(generator, batch_size, length, vocab_size)
    return _ask(symbols, symbols.sort(dim=1).values)


def _ask(symbols: Int[Tensor, "batch length"], answers: Int[Tensor, "batch length"]) -> Task:
    tokens = torch.cat([symbols, torch.full_like(answers, ASK)], dim=1)
    targets = torch.cat([torch.full_like(symbols, PAD), answers], dim=1)
    return Task(tokens, targets, tokens == ASK)


def _sequence(generator: torch.Generator, batch_size: int, length: int, vocab_size: int) -> Tensor:
    _check(batch_size=batch_size, length=length, vocab_size=vocab_size)
    return _symbols(generator, batch_size, length, vocab_size)


def _symbols(generator: torch.Generator, batch_size: int, length: int, vocab_size: int) -> Tensor:
    return torch.randint(FIRST_SYMBOL, vocab_size, (batch_size, length), generator=generator)


def _check(*, vocab_size: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"Expected {name} to be 1 or more, but got {size}.")
    if vocab_size < FIRST_SYMBOL + 2:
        raise ValueError(
            f"Expected a vocab_size of at least {FIRST_SYMBOL + 2}: ids 0 to {MARK} are special, and with "
            f"fewer than two symbols there is nothing to get wrong. But got {vocab_size}."
        )
