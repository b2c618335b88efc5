"""Sentences read from the end, without their padding getting in front.

    >>> reverse_within(torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]]), torch.tensor([3, 2]))
    tensor([[7, 6, 5, 0],
            [9, 8, 0, 0]])

A network that reads backwards (Schuster and Paliwal 1997) must meet the last word first. Turning the
whole row round would let it meet the padding first, and the padding would stay in its memory.
"""

from __future__ import annotations

import torch

from course_lib.shapes import Int, Tensor


def reverse_within(x: Tensor, lengths: Int[Tensor, " batch"] | None) -> Tensor:
    """The first `lengths[i]` positions (axis 1) of row i turned round; padding stays. None: all of them.

        >>> reverse_within(torch.tensor([[5, 6, 7]]), torch.tensor([2]))
        tensor([[6, 5, 7]])

    For words (batch, len) as for vectors (batch, len, width). Done twice, it is undone.
    """
    if lengths is None:
        return x.flip(1)
    positions = torch.arange(x.shape[1], device=x.device)
    ends = lengths[:, None]
    source = torch.where(positions < ends, ends - 1 - positions, positions)  # (batch, len)
    return torch.take_along_dim(x, source.view(*source.shape, *[1] * (x.ndim - 2)), dim=1)
