"""Windows: the last few words, at every position of a sentence.

    >>> last_words(torch.tensor([[2, 7, 8, 9]]), 3, fill=0)[0]
    tensor([[0, 0, 2],
            [0, 2, 7],
            [2, 7, 8],
            [7, 8, 9]])

All that an n-gram model or a fixed-window network ever sees of a sentence.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.shapes import Int, Tensor


def last_words(tokens: Int[Tensor, "batch tgt"], n: int, *, fill: int) -> Int[Tensor, "batch tgt n"]:
    """At each position the last `n` words, itself the last of them; `fill` stands before the first word."""
    return F.pad(tokens, (n - 1, 0), value=fill).unfold(1, n, 1)


def slide(window: Int[Tensor, "batch n"], tokens: Int[Tensor, " batch"]) -> Int[Tensor, "batch n"]:
    """One word on: the oldest word leaves the window, the newest enters.

    >>> slide(torch.tensor([[0, 2, 7]]), torch.tensor([8]))
    tensor([[2, 7, 8]])
    """
    return torch.cat([window, tokens[:, None]], dim=1)[:, 1:]
