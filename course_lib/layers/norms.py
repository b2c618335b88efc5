"""Normalisation: subtract a mean, divide by a standard deviation. The question is over what.

    >>> words = torch.tensor([[[1.0, 3.0], [10.0, 50.0]]])           # one sentence, two words, two features
    >>> layer_norm(words, weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1.,  1.],
            [-1.,  1.]])
    >>> batch_norm(words, weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1., -1.],
            [ 1.,  1.]])

LayerNorm looks along one word's features: the word's neighbours, the rest of the batch and the padding
cannot change the result, and training and use are the same. BatchNorm looks along one feature, over all
places of the batch, padding among them, and in use it needs means kept from training. RMSNorm, which came
after the Transformer, is LayerNorm without the mean: it only divides. The functions show what is computed;
the modules are torch's own.

    Ioffe, Szegedy 2015         Batch Normalization
    Ba, Kiros, Hinton 2016      Layer Normalization
    Zhang, Sennrich 2019        Root Mean Square Layer Normalization

Numbers of 16 bits are normalised in 32: a square above 65504 is infinite in float16.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from course_lib.shapes import Float, Tensor

EPS = 1e-5
"""Added to each variance, so that a constant is not divided by 0. Torch's own choice."""


def layer_norm(
    x: Float[Tensor, "... model"],
    *,
    weight: Float[Tensor, " model"],
    bias: Float[Tensor, " model"],
    eps: float = EPS,
) -> Float[Tensor, "... model"]:
    """Each word by itself, over its features; then every feature gets its own scale and shift.

    >>> layer_norm(torch.tensor([2.0, 4.0, 6.0]), weight=torch.ones(3), bias=torch.tensor([0.0, 0.0, 1.0]))
    tensor([-1.2247,  0.0000,  2.2247])
    """
    wide = _wide(x)
    mean = wide.mean(dim=-1, keepdim=True)
    variance = (wide - mean).square().mean(dim=-1, keepdim=True)
    return _normalise(x, mean, variance, weight, bias, eps)


def rms_norm(x: Float[Tensor, "... model"], *, weight: Float[Tensor, " model"]) -> Float[Tensor, "... model"]:
    """Each word divided by the root of its mean square; no mean is subtracted, no shift added.

    >>> rms_norm(torch.tensor([3.0, 4.0]), weight=torch.ones(2))       # the mean square is 12.5
    tensor([0.8485, 1.1314])
    """
    wide = _wide(x)
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + EPS) * weight).to(x.dtype)


def batch_norm(
    x: Float[Tensor, "batch len model"], *, weight: Float[Tensor, " model"], bias: Float[Tensor, " model"]
) -> Float[Tensor, "batch len model"]:
    """Each feature by itself, over all places of the batch.

    >>> batch_norm(torch.tensor([[[1.0], [3.0]], [[5.0], [3.0]]]), weight=torch.ones(1), bias=torch.zeros(1))
    tensor([[[-1.4142],
             [ 0.0000]],
    <BLANKLINE>
            [[ 1.4142],
             [ 0.0000]]])
    """
    mean = _wide(x).mean(dim=(0, 1))
    variance = (_wide(x) - mean).square().mean(dim=(0, 1))
    return _normalise(x, mean, variance, weight, bias)


class BatchNorm(nn.BatchNorm1d):
    """`batch_norm` with its scale and shift, and the running means that it uses outside training."""

    def forward(self, x: Float[Tensor, "batch len model"]) -> Float[Tensor, "batch len model"]:
        return super().forward(x.mT).mT  # torch wants the features second


def _normalise(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS
) -> Tensor:
    return ((_wide(x) - mean) * torch.rsqrt(variance + eps) * weight + bias).to(x.dtype)


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


NORMS = {
    "layer": nn.LayerNorm,
    "rms": partial(nn.RMSNorm, eps=EPS),
    "batch": BatchNorm,
    "none": nn.Identity,
}


def make_norm(kind: str, *, d_model: int) -> nn.Module:
    """The norm of that name, for the residual path of a block; "none" leaves words as they are.

    >>> make_norm("none", d_model=4)
    Identity()
    """
    if kind not in NORMS:
        raise ValueError(f"Expected norm to be layer, rms, batch or none, but got {kind!r}.")
    return NORMS[kind](d_model)
