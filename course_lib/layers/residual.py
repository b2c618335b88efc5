"""Residual connections: a layer computes a change that is added to its input.

    >>> halve = lambda x: x / 2
    >>> pre_norm(torch.tensor([8.0]), torch.tanh, norm=halve)          # 8 + tanh(8 / 2)
    tensor([8.9993])
    >>> post_norm(torch.tensor([8.0]), torch.tanh, norm=halve)         # (8 + tanh(8)) / 2
    tensor([4.5000])

The 2017 paper normalises after the addition (post-norm). Gradients then pass through every norm, and training
needs a learning-rate warm-up. With pre-norm the residual stream is a plain sum, which grows from block to
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
"""Any function from a tensor to a tensor of the same shape."""


def pre_norm(x: Float[Tensor, "... model"], layer: Layer, *, norm: Layer) -> Float[Tensor, "... model"]:
    """x + layer(norm(x)): the residual stream itself is not normalised.

    >>> pre_norm(torch.tensor([8.0]), lambda x: 0 * x, norm=torch.tanh)     # an output of 0 changes nothing
    tensor([8.])
    """
    return x + layer(norm(x))


def post_norm(x: Float[Tensor, "... model"], layer: Layer, *, norm: Layer) -> Float[Tensor, "... model"]:
    """norm(x + layer(x)): the residual stream is normalised after every layer.

    >>> post_norm(torch.tensor([8.0]), lambda x: 0 * x, norm=torch.tanh)    # even if the output is 0
    tensor([1.0000])
    """
    return norm(x + layer(x))


class Residual(nn.Module):
    """A residual connection around one layer, with norm and dropout.

    Dropout is applied to the layer's output before the addition. `residual=False` removes the connection, for
    ablation experiments. A layer with more than one input or output is called between `before` and `after`:

        >>> residual = Residual(d_model=4, pre_norm=True)
        >>> x = torch.randn(2, 4)
        >>> torch.equal(residual(x, torch.tanh), residual.after(x, torch.tanh(residual.before(x))))
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
        return self.norm(x) if self.pre_norm else x

    def after(
        self, x: Float[Tensor, "... model"], change: Float[Tensor, "... model"]
    ) -> Float[Tensor, "... model"]:
        if self.training:  # in eval mode dropout does nothing, but the call takes time
            change = self.dropout(change)
        changed = x + change if self.residual else change
        return changed if self.pre_norm else self.norm(changed)
