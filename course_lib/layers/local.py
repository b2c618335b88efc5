"""Local attention: each query attends to a window around one position instead of the whole sentence.

    >>> positions, lengths = torch.arange(6), torch.tensor([6])
    >>> centres = monotonic_centres(torch.tensor([[0, 3, 9]]), lengths)     # target words 0, 3 and 9
    >>> centres                                                             # the source ends at 5
    tensor([[0, 3, 5]])
    >>> local_mask(centres, positions, half_width=1).int()
    tensor([[[1, 1, 0, 0, 0, 0],
             [0, 0, 1, 1, 1, 0],
             [0, 0, 0, 0, 1, 1]]], dtype=torch.int32)

Each target word has a centre p in the source and attends to positions p - D to p + D (D is the `half_width`).
Luong, Pham and Manning (2015) propose two ways to choose the centre:

| name | centre | attention weights |
|---|---|---|
| local-m (monotonic) | p = t for target word t | softmax inside the window |
| local-p (predictive) | p = S · sigmoid(v_pᵀ tanh(W_p h)), S source words | that times `gaussian_window` |

The window's edge is hard, so it gives the centre no gradient. The Gaussian is smooth, and through it the
network learns where to attend. Positions count from 0.
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.layers.checks import check_weight
from course_lib.shapes import Bool, Float, Int, Tensor


def monotonic_centres(
    steps: Int[Tensor, "batch queries"], lengths: Int[Tensor, " batch"]
) -> Int[Tensor, "batch queries"]:
    """local-m: target word t is centred on source word t, or on the last source word."""
    return torch.minimum(steps, lengths[:, None] - 1)


def predicted_centres(
    query: Float[Tensor, "batch queries query_dim"],
    lengths: Int[Tensor, " batch"],
    *,
    w_p: Float[Tensor, "attn_dim query_dim"],
    v_p: Float[Tensor, " attn_dim"],
) -> Float[Tensor, "batch queries"]:
    """local-p: S · sigmoid(v_pᵀ tanh(W_p q)). The query predicts the centre as a fraction of the length.

        >>> query, w_p, v_p = torch.tensor([[[0.0], [9.0]]]), torch.ones(1, 1), torch.tensor([2.0])
        >>> predicted_centres(query, torch.tensor([8]), w_p=w_p, v_p=v_p)     # 8 · 0.5, 8 · sigmoid(2)
        tensor([[4.0000, 7.0464]])

    Computed in float32 or better: bfloat16 has no number between 128 and 129.
    """
    check_weight("v_p", v_p, "attn_dim,", (len(w_p),))
    logits = torch.tanh(query @ w_p.mT) @ v_p  # (batch, queries)
    return lengths[:, None] * torch.sigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32)))


def local_mask(
    centres: Float[Tensor, "... queries"] | Int[Tensor, "... queries"],
    positions: Int[Tensor, " keys"],
    *,
    half_width: int,
) -> Bool[Tensor, "... queries keys"]:
    """A mask that allows positions at most `half_width` from the centre. Combine it with a padding mask.

    >>> local_mask(torch.tensor([1.5]), torch.arange(5), half_width=1)
    tensor([[False,  True,  True, False, False]])
    """
    if half_width < 1 and centres.is_floating_point():
        raise ValueError(
            f"Expected half_width of at least 1, but got {half_width}. "
            "A narrower window could fall between two words and contain neither."
        )
    return (positions - centres.unsqueeze(-1)).abs() <= half_width


def gaussian_window(
    centres: Float[Tensor, "... queries"] | Int[Tensor, "... queries"],
    positions: Int[Tensor, " keys"],
    *,
    sigma: float,
) -> Float[Tensor, "... queries keys"]:
    """exp(-(position - centre)² / 2σ²): 1 at the centre, decreasing with distance.

    >>> gaussian_window(torch.tensor([2.0]), torch.arange(5), sigma=1.0)  # e to 0, -1/2 and -2
    tensor([[0.1353, 0.6065, 1.0000, 0.6065, 0.1353]])
    """
    return torch.exp(-(positions - centres.unsqueeze(-1)).square() / (2 * sigma**2))


class PredictedCentres(nn.Module):
    """`predicted_centres` with its attn_dim · query_dim + attn_dim parameters."""

    def __init__(self, *, query_dim: int, attn_dim: int):
        super().__init__()
        self.w_p = nn.Linear(query_dim, attn_dim, bias=False)
        self.v_p = nn.Linear(attn_dim, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "batch queries query_dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch queries"]:
        return predicted_centres(query, lengths, w_p=self.w_p.weight, v_p=self.v_p.weight[0])
