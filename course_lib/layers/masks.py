"""Who may look at whom. One convention for the whole course: `may_look`, True = may be looked at.

    >>> padding_mask(torch.tensor([3, 1]), 3) & causal_mask(3)    # two sentences, of 3 words and of 1
    tensor([[[ True, False, False],
             [ True,  True, False],
             [ True,  True,  True]],
    <BLANKLINE>
            [[ True, False, False],
             [ True, False, False],
             [ True, False, False]]])

A mask has queries as rows and keys as columns, like the scores it lies on, and masks join with `&`.
It takes away keys, never queries: what a padding position itself looks at does not matter, since
nobody looks at the result.

This is the meaning of torch's `scaled_dot_product_attention`. `nn.MultiheadAttention` means the opposite,
True = ignore: hand it `~may_look`.
"""

from __future__ import annotations

import torch

from course_lib.layers.checks import check_may_look
from course_lib.shapes import Bool, Float, Int, Tensor


def padding_mask(lengths: Int[Tensor, " batch"], max_len: int) -> Bool[Tensor, "batch 1 max_len"]:
    """Only the first `lengths[i]` keys of sentence i may be looked at; the rest is padding.

        >>> padding_mask(torch.tensor([3, 1]), max_len=4)
        tensor([[[ True,  True,  True, False]],
        <BLANKLINE>
                [[ True, False, False, False]]])

    The axis of 1 serves every query. Scores with heads need one more: `may_look.unsqueeze(1)`.
    """
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths[:, None])[:, None, :]


def causal_mask(n: int, *, device: torch.device | None = None) -> Bool[Tensor, "n n"]:
    """Each position may look at itself and at what came before, never ahead.

    >>> causal_mask(3)
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def hide(scores: Float[Tensor, "... keys"], may_look: Bool[Tensor, "... #keys"]) -> Float[Tensor, "... keys"]:
    """Scores with minus infinity where a query may not look: the one fill, and e to its power is exactly 0.

    >>> hide(torch.tensor([[2.0, 1.0, 3.0]]), torch.tensor([[True, True, False]]))
    tensor([[2., 1., -inf]])

    Not 0, for e⁰ = 1 is a weight like any other; not a large negative number, for float16 ends at -65504.
    """
    check_may_look(may_look, scores.shape)
    return scores.masked_fill(~may_look, float("-inf"))
