"""The position-wise feed-forward layer: two linear layers with a nonlinearity between them.

    >>> w_in, w_out = torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0, 1.0]])
    >>> words = torch.tensor([[3.0], [-4.0]])                          # two words, one feature each
    >>> feed_forward(words, w_in=w_in, b_in=torch.zeros(2), w_out=w_out, b_out=torch.zeros(1))
    tensor([[3.],
            [4.]])

With one unit for each sign and their sum, this layer computes |x|. Attention mixes positions, and is linear
in the values; the feed-forward layer adds a nonlinearity, and treats each position separately.

Most open models since 2023 use a gate instead of ReLU (`SwiGLU`). Translators of 2014 and 2015 used `maxout`,
a learned piecewise linear activation: the maximum of two units.

    Goodfellow et al. 2013 Maxout Networks
    Vaswani et al. 2017    Attention Is All You Need, section 3.3
    Shazeer 2020           GLU Variants Improve Transformer
"""

from __future__ import annotations

from torch import nn
from torch.nn import functional as F

from course_lib.shapes import Float, Tensor


def feed_forward(
    x: Float[Tensor, "... model"],
    *,
    w_in: Float[Tensor, "d_ff model"],
    b_in: Float[Tensor, " d_ff"],
    w_out: Float[Tensor, "model d_ff"],
    b_out: Float[Tensor, " model"],
) -> Float[Tensor, "... model"]:
    """W_out max(0, W_in x + b_in) + b_out, with the same weights at every position."""
    return F.linear(F.relu(F.linear(x, w_in, b_in)), w_out, b_out)


def maxout(x: Float[Tensor, "... input"]) -> Float[Tensor, "... output"]:
    """The maximum of each pair of neighbouring numbers; only the larger one gets a gradient.

    >>> maxout(torch.tensor([[1.0, 5.0, -2.0, -3.0]]))
    tensor([[ 5., -2.]])
    """
    return x.unflatten(-1, (-1, 2)).amax(dim=-1)


class FeedForward(nn.Module):
    """`feed_forward` with its 2 · d_model · d_ff + d_ff + d_model parameters.

    `dropout` is applied to the hidden layer, as in the authors' code but not in the paper.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float = 0.0):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        hidden = F.relu(self.inner(x))
        return self.outer(self.dropout(hidden) if self.training else hidden)


class SwiGLU(nn.Module):
    """W_out (silu(W_gate x) · W_in x), where silu(z) = z · sigmoid(z): 3 · d_model · d_ff parameters.

    With two thirds of the d_ff of a `FeedForward` layer it has the same number of weights.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float = 0.0):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        for layer in (self.gate, self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        return self.outer(self.dropout(F.silu(self.gate(x)) * self.inner(x)))


class Maxout(nn.Module):
    """A linear layer with two units per output, of which the larger is the output."""

    def __init__(self, *, input_size: int, output_size: int):
        super().__init__()
        self.candidates = nn.Linear(input_size, 2 * output_size)

    def forward(self, x: Float[Tensor, "... input"]) -> Float[Tensor, "... output"]:
        return maxout(self.candidates(x))


def make_feed_forward(kind: str, *, d_model: int, d_ff: int, dropout: float = 0.0) -> FeedForward | SwiGLU:
    """Make a layer of kind "relu" or "swiglu"."""
    if kind == "relu":
        return FeedForward(d_model=d_model, d_ff=d_ff, dropout=dropout)
    if kind == "swiglu":
        return SwiGLU(d_model=d_model, d_ff=d_ff, dropout=dropout)
    raise ValueError(f"Expected feed_forward to be relu, swiglu or none, but got {kind!r}.")
