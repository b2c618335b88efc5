"""Mask source words of a Transformer, so that no position attends to them, or each only to itself.

    memory, weights = masked_memory(model, src, own=mask_self_only(10), cross=mask_without([8], 10))
    greedy(model, memory, max_len=30)                       # the translation under these masks

There are two attention masks (`layers/masks.py`): `own` for the encoder's self-attention and `cross` for the
decoder's cross-attention. A masked word still has a query. Nothing else changes, including the positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.rows import Rows
from course_lib.models.inference import eval_mode
from course_lib.models.transformer import Transformer
from course_lib.shapes import Bool, Int, Tensor


def mask_without(positions: Sequence[int], n: int) -> Bool[Tensor, "1 1 1 src"]:
    """A mask over n words that hides those at these positions, counted from 0.

    >>> mask_without([0, 2], 3)
    tensor([[[[False,  True, False]]]])
    """
    mask = torch.ones(1, 1, 1, n, dtype=torch.bool)
    mask[..., list(positions)] = False
    return mask


def mask_self_only(n: int) -> Bool[Tensor, "1 1 src src"]:
    """A mask under which each of n words attends only to itself.

    >>> mask_self_only(2)
    tensor([[[[ True, False],
              [False,  True]]]])
    """
    return torch.eye(n, dtype=torch.bool)[None, None]


@torch.no_grad()
def masked_memory(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    own: Bool[Tensor, "#batch 1 #src src"],
    cross: Bool[Tensor, "#batch 1 1 src"],
    *,
    with_weights: bool = False,
) -> tuple[Rows, Rows]:
    """The memory of these sentences under both masks, and the encoder's attention weights by use."""
    with eval_mode(model):
        states, weights = model.run_encoder(src, own, with_weights=with_weights)
        return model.make_memory(states, cross), weights
