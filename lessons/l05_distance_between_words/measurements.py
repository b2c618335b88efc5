"""Numbers that lesson 05 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

import math
from collections.abc import Sequence

SIXTEEN_LAYERS = (3,) * 16


def measure() -> dict[str, dict[str, float]]:
    paths = count_paths(SIXTEEN_LAYERS)
    return {
        "16 layers": {
            "million paths of the middle word": max(paths) / 1e6,
            "root of the paths of the middle word": math.sqrt(max(paths)),
        },
    }


def count_paths(widths: Sequence[int]) -> list[int]:
    """The number of paths from each word to the last output of a stack without dilation.

    >>> count_paths([3, 3])
    [1, 2, 3, 2, 1]
    """
    paths = [1]
    for width in widths:
        paths = [sum(paths[max(0, i - width + 1) : i + 1]) for i in range(len(paths) + width - 1)]
    return paths
