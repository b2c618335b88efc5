"""Restricted attention: each word attends to its neighbours only, so the cost grows with n, not with n².

    >>> window_mask(5, 1)                                  # one neighbour on each side
    tensor([[ True,  True, False, False, False],
            [ True,  True,  True, False, False],
            [False,  True,  True,  True, False],
            [False, False,  True,  True,  True],
            [False, False, False,  True,  True]])

A mask alone saves nothing: all n² scores are computed and most are discarded. `attend_nearby` computes only
those near the diagonal, at most 3r for each word. The price: word j influences word i only after |i - j| / r
layers.

    Vaswani et al. 2017    Attention Is All You Need, section 4 (proposed there)
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.checks import check_query_and_keys
from course_lib.layers.local import local_mask
from course_lib.shapes import Bool, Float, Tensor


def window_mask(n: int, radius: int) -> Bool[Tensor, "n n"]:
    """Each position may attend to itself and to `radius` neighbours on each side.

    >>> window_mask(3, 0)
    tensor([[ True, False, False],
            [False,  True, False],
            [False, False,  True]])
    """
    return local_mask(torch.arange(n), torch.arange(n), half_width=radius)


def attend_nearby(
    query: Float[Tensor, "... len key_dim"],
    keys: Float[Tensor, "... len key_dim"],
    values: Float[Tensor, "... len value_dim"],
    *,
    radius: int,
) -> Float[Tensor, "... len value_dim"]:
    """What `attend` returns under `window_mask`, without n × n scores.

        >>> same, values = torch.zeros(4, 1), torch.tensor([[0.0], [3.0], [6.0], [60.0]])
        >>> attend_nearby(same, same, values, radius=1)[:, 0]          # means of neighbours
        tensor([ 1.5000,  3.0000, 23.0000, 33.0000])

    The sentence is cut into blocks of `radius` words. Everything that a word may attend to lies in its own
    block or in one of the two beside it, so each block attends to three.
    """
    check_query_and_keys(query, keys)
    check_same_length(query, keys)
    if radius < 1:
        raise ValueError(f"Expected a radius of at least 1 neighbour on each side, but got {radius}.")
    n = query.shape[-2]
    n_blocks = -(-n // radius)
    rest = n_blocks * radius - n  # padding of the last block

    def three_blocks(x: Tensor) -> Tensor:
        """For each block, its rows and those of its neighbours: (..., blocks, 3 · radius, width)."""
        return F.pad(x, (0, 0, radius, radius + rest)).unfold(-2, 3 * radius, radius).mT

    real = three_blocks(query.new_ones(n, 1, dtype=torch.bool)).mT  # (blocks, 1, 3 · radius)
    positions = torch.arange(3 * radius, device=query.device)  # within the three blocks
    mask = real & local_mask(positions[radius : 2 * radius], positions, half_width=radius)
    mask = mask[(None,) * (query.ndim - 2)]  # an axis of 1 for each in front
    blocks = F.pad(query, (0, 0, 0, rest)).unflatten(-2, (n_blocks, radius))  # (..., blocks, radius, key_dim)
    context, _ = attend(blocks, three_blocks(keys), three_blocks(values), mask=mask)
    return context.flatten(-3, -2)[..., :n, :]


def check_same_length(query: Tensor, keys: Tensor) -> None:
    """Self-attention has one query and one key for every position."""
    if query.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "Expected as many queries as keys, because both are positions of the same sentence, "
            f"but got {query.shape[-2]} queries and {keys.shape[-2]} keys."
        )
