"""Normalisation: subtract a mean, divide by a standard deviation. Norms differ in what they average over.

    >>> words = torch.tensor([[[1.0, 3.0], [10.0, 50.0]]])           # one sentence, two words, two features
    >>> layer_norm(words, weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1.,  1.],
            [-1.,  1.]])
    >>> batch_norm(words, weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1., -1.],
            [ 1.,  1.]])

LayerNorm averages over the features of one word, so other words and padding can't change the result.
BatchNorm averages each feature over all positions of the batch, padding included, and at inference it uses
running averages from training. RMSNorm divides by the root mean square, without subtracting a mean. The
functions show the computation; the modules are torch's own.

    Ioffe, Szegedy 2015         Batch Normalization
    Ba, Kiros, Hinton 2016      Layer Normalization
    Zhang, Sennrich 2019        Root Mean Square Layer Normalization

16-bit numbers are normalised in float32, because a square above 65504 is infinite in float16.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from course_lib.shapes import Float, Tensor

EPS = 1e-5
"""Added to each variance to avoid division by 0. Torch's default."""


Vector = Float[Tensor, " model"]


def layer_norm(
    x: Float[Tensor, "... model"], *, weight: Vector, bias: Vector, eps: float = EPS
) -> Float[Tensor, "... model"]:
    """Normalise each word over its features, then scale and shift each feature.

    >>> layer_norm(torch.tensor([2.0, 4.0, 6.0]), weight=torch.ones(3), bias=torch.tensor([0.0, 0.0, 1.0]))
    tensor([-1.2247,  0.0000,  2.2247])
    """
    x_float = _upcast(x)
    mean = x_float.mean(dim=-1, keepdim=True)
    variance = (x_float - mean).square().mean(dim=-1, keepdim=True)
    return _normalise(x, mean, variance, weight, bias, eps)


def batch_norm(
    x: Float[Tensor, "batch len model"], *, weight: Vector, bias: Vector
) -> Float[Tensor, "batch len model"]:
    """Normalise each feature over all positions of the batch.

    >>> batch_norm(torch.tensor([[[1.0], [3.0]], [[5.0], [3.0]]]), weight=torch.ones(1), bias=torch.zeros(1))
    tensor([[[-1.4142],
             [ 0.0000]],
    <BLANKLINE>
            [[ 1.4142],
             [ 0.0000]]])
    """
    mean = _upcast(x).mean(dim=(0, 1))
    variance = (_upcast(x) - mean).square().mean(dim=(0, 1))
    return _normalise(x, mean, variance, weight, bias)


class BatchNorm(nn.BatchNorm1d):
    """`batch_norm` with its scale and shift, and the running averages that it uses at inference."""

    def forward(self, x: Float[Tensor, "batch len model"]) -> Float[Tensor, "batch len model"]:
        return super().forward(x.mT).mT  # torch expects the features on axis 1


def _normalise(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS
) -> Tensor:
    return ((_upcast(x) - mean) * torch.rsqrt(variance + eps) * weight + bias).to(x.dtype)


def _upcast(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


NORMS = {"layer": nn.LayerNorm, "rms": partial(nn.RMSNorm, eps=EPS), "batch": BatchNorm, "none": nn.Identity}


def make_norm(kind: str, *, d_model: int) -> nn.Module:
    """Make a norm for the residual connections of a block; "none" is the identity."""
    if kind not in NORMS:
        raise ValueError(f"Expected norm to be layer, rms, batch or none, but got {kind!r}.")
    return NORMS[kind](d_model)
