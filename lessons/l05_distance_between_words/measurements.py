"""The numbers that lesson 05 quotes and no experiment records."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from course_lib.translation.shipped import shared

PLAIN_STACK = (3,) * 16


def measure() -> dict[str, dict[str, float]]:
    ways = count_ways(PLAIN_STACK)
    return {
        "numbers in the summary": {name: summary_size(name) for name in ("rctm", "seq2seq")},
        "16 plain layers": {
            "million ways": sum(ways) / 1e6,
            "million ways of the middle word": max(ways) / 1e6,
            "root of the ways of the middle word": math.sqrt(max(ways)),
        },
    }


def summary_size(name: str) -> int:
    """How many numbers a decoder gets from its encoder."""
    with torch.no_grad():
        memory = shared(name).model.read(torch.tensor([[4, 5, 3]]), torch.tensor([3]))
    return sum(tensor.numel() for tensor in memory.values())


def count_ways(widths: Sequence[int]) -> list[int]:
    """The number of ways from each word to the last output of a stack without gaps.

    >>> count_ways([3, 3])
    [1, 2, 3, 2, 1]
    """
    ways = [1]
    for width in widths:
        ways = [sum(ways[max(0, i - width + 1) : i + 1]) for i in range(len(ways) + width - 1)]
    return ways
