"""Maxout: of every few numbers only the largest goes on.

    >>> maxout(torch.tensor([[1.0, 5.0, -2.0, -3.0]]))
    tensor([[ 5., -2.]])

    Goodfellow et al. 2013    Maxout Networks

A linear layer that is followed by it can learn its own bend: the larger of two straight lines. The
translators of 2014 and 2015 have one just before the vocabulary.
"""

from __future__ import annotations

from torch import nn

from course_lib.layers.checks import check_decimal
from course_lib.shapes import Float, Tensor


def maxout(x: Float[Tensor, "... input"], pool: int = 2) -> Float[Tensor, "... output"]:
    """The largest of each `pool` neighbours.

    >>> maxout(torch.tensor([3.0, 1.0, 2.0, 4.0, 6.0, 5.0]), pool=3)
    tensor([3., 6.])
    """
    check_decimal("x", x)
    if x.shape[-1] % pool:
        raise ValueError(
            f"Expected a width that can be cut into groups of {pool}, but got {x.shape[-1]}. "
            "Make the layer before it `pool` times as wide as what shall come out."
        )
    return x.unflatten(-1, (-1, pool)).amax(dim=-1)


class Maxout(nn.Module):
    """A linear layer to `pool` candidates for each number, of which the largest goes on.

    >>> Maxout(input_size=3, output_size=4)(torch.zeros(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(self, *, input_size: int, output_size: int, pool: int = 2):
        super().__init__()
        self.candidates = nn.Linear(input_size, pool * output_size)
        self.pool = pool

    def forward(self, x: Float[Tensor, "... input"]) -> Float[Tensor, "... output"]:
        return maxout(self.candidates(x), self.pool)
