"""The residual path: a layer says what to change, and the rest goes by untouched.

    >>> halve = lambda x: x / 2
    >>> pre_norm(torch.tensor([8.0]), torch.tanh, norm=halve)          # 8 + tanh(8 / 2)
    tensor([8.9993])
    >>> post_norm(torch.tensor([8.0]), torch.tanh, norm=halve)         # (8 + tanh(8)) / 2
    tensor([4.5000])

The 2017 paper normalises after the addition, so every layer's norm lies on the path: gradients pass
through all of them, and training needs a gentle start (warm-up). Normalised before the layer, the path
from the last block to the first is a plain sum, and training is easier; the sum grows from block to
block, so the stack ends with one more norm.

    He et al. 2016         Deep Residual Learning for Image Recognition
    Vaswani et al. 2017    Attention Is All You Need (post-norm)
    Xiong et al. 2020      On Layer Normalization in the Transformer Architecture (why pre-norm is easier)
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from course_lib.layers.norms import make_norm
from course_lib.shapes import Float, Tensor

Layer = Callable[[Tensor], Tensor]
"""Anything that makes a tensor of a tensor of the same shape."""


def pre_norm(x: Float[Tensor, "... model"], layer: Layer, *, norm: Layer) -> Float[Tensor, "... model"]:
    """x + layer(norm(x)): the path itself stays free.

    >>> pre_norm(torch.tensor([8.0]), lambda x: 0 * x, norm=torch.tanh)     # a silent layer changes nothing
    tensor([8.])
    """
    return x + layer(norm(x))


def post_norm(x: Float[Tensor, "... model"], layer: Layer, *, norm: Layer) -> Float[Tensor, "... model"]:
    """norm(x + layer(x)): whatever passes is normalised.

    >>> post_norm(torch.tensor([8.0]), lambda x: 0 * x, norm=torch.tanh)    # even past a silent layer
    tensor([1.0000])
    """
    return norm(x + layer(x))


class Residual(nn.Module):
    """A residual path with its norm and its dropout, laid around one layer.

    Dropout acts on what the layer says, before the addition; what goes by is never dropped. Without
    `residual` nothing goes by: an experiment, to see what the path is worth.
    A layer that takes or gives more than one tensor goes between `before` and `after` by hand:

        >>> path = Residual(d_model=4, pre_norm=True)
        >>> x = torch.randn(2, 4)
        >>> torch.equal(path(x, torch.tanh), path.after(x, torch.tanh(path.before(x))))
        True
    """

    def __init__(
        self,
        *,
        d_model: int,
        pre_norm: bool,
        norm: str = "layer",
        residual: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.residual = residual
        self.norm = make_norm(norm, d_model=d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, x: Float[Tensor, "... model"], layer: Layer) -> Float[Tensor, "... model"]:
        return self.after(x, layer(self.before(x)))

    def before(self, x: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """What the layer gets to see."""
        return self.norm(x) if self.pre_norm else x

    def after(
        self, x: Float[Tensor, "... model"], change: Float[Tensor, "... model"]
    ) -> Float[Tensor, "... model"]:
        """The path after the layer has said its change."""
        if self.training:  # at rest dropout does nothing, and its call takes as long as a small product
            change = self.dropout(change)
        changed = x + change if self.residual else change
        return changed if self.pre_norm else self.norm(changed)
