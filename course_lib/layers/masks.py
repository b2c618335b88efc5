"""Attention masks. One convention for the whole course: `mask` is True where a query may attend to a key.

    >>> padding_mask(torch.tensor([3, 1]), 3) & causal_mask(3)    # two sentences, of 3 words and of 1
    tensor([[[ True, False, False],
             [ True,  True, False],
             [ True,  True,  True]],
    <BLANKLINE>
            [[ True, False, False],
             [ True, False, False],
             [ True, False, False]]])

A mask has queries as rows and keys as columns, like the scores, and masks are combined with `&`. Padding is
masked as keys, never as queries: what a padding position attends to doesn't matter, because its output is
never used.

This is the convention of torch's `scaled_dot_product_attention`. `nn.MultiheadAttention` uses the opposite,
True = ignore: pass it `~mask`.
"""

from __future__ import annotations

import torch

from course_lib.layers.checks import check_mask
from course_lib.shapes import Bool, Float, Int, Tensor


def padding_mask(lengths: Int[Tensor, " batch"], max_len: int) -> Bool[Tensor, "batch 1 max_len"]:
    """Allow the first `lengths[i]` keys of sentence i; the rest are padding.

        >>> padding_mask(torch.tensor([3, 1]), max_len=4)
        tensor([[[ True,  True,  True, False]],
        <BLANKLINE>
                [[ True, False, False, False]]])

    The axis of size 1 broadcasts over queries. Scores with heads need one more: `mask.unsqueeze(1)`.
    """
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths[:, None])[:, None, :]


def causal_mask(n: int, *, device: torch.device | None = None) -> Bool[Tensor, "n n"]:
    """Each position may attend to itself and to earlier positions.

    >>> causal_mask(3)
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def mask_scores(
    scores: Float[Tensor, "... keys"], mask: Bool[Tensor, "... #keys"]
) -> Float[Tensor, "... keys"]:
    """Set masked scores to minus infinity, so that their exponential is exactly 0.

    >>> mask_scores(torch.tensor([[2.0, 1.0, 3.0]]), torch.tensor([[True, True, False]]))
    tensor([[2., 1., -inf]])

    A score of 0 would not do, because e⁰ = 1; nor would -1e9, because float16 ends at -65504.
    """
    check_mask(mask, scores.shape)
    return scores.masked_fill(~mask, float("-inf"))
