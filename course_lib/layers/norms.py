"""Normalisation: subtract a mean, divide by a standard deviation. The question is over what.

    >>> words = torch.tensor([[[1.0, 3.0], [10.0, 50.0]]])           # one sentence, two words, two features
    >>> layer_norm(words, weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1.,  1.],
            [-1.,  1.]])
    >>> batch_norm(words, torch.tensor([2]), weight=torch.ones(2), bias=torch.zeros(2))[0].round()
    tensor([[-1., -1.],
            [ 1.,  1.]])

LayerNorm looks along one word's features: the word's neighbours, the rest of the batch and the padding
cannot change the result, and training and use are the same. BatchNorm looks along one feature, over all
words of the batch: it must leave padding out, and in use it needs means kept from training. RMSNorm, which
came after the Transformer, is LayerNorm without the mean: it only divides.

    Ioffe, Szegedy 2015         Batch Normalization
    Ba, Kiros, Hinton 2016      Layer Normalization
    Zhang, Sennrich 2019        Root Mean Square Layer Normalization

Numbers of 16 bits are normalised in 32: a square above 65504 is infinite in float16.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.masks import padding_mask
from course_lib.shapes import Float, Int, Tensor

EPS = 1e-5
"""Added to each variance, so that a constant is not divided by 0. Torch's own choice, as is MOMENTUM."""
MOMENTUM = 0.1


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
    x: Float[Tensor, "batch len model"],
    lengths: Int[Tensor, " batch"],
    *,
    weight: Float[Tensor, " model"],
    bias: Float[Tensor, " model"],
) -> Float[Tensor, "batch len model"]:
    """Each feature by itself, over all words of the batch; padding is not counted.

    >>> padded = torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]])     # the 99 is padding
    >>> batch_norm(padded, torch.tensor([2, 1]), weight=torch.ones(1), bias=torch.zeros(1))[..., 0]
    tensor([[-1.2247,  0.0000],
            [ 1.2247, 58.7876]])
    """
    mean, variance, _ = batch_statistics(x, lengths)
    return _normalise(x, mean, variance, weight, bias)


def batch_statistics(
    x: Float[Tensor, "batch len model"], lengths: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, " model"], Float[Tensor, " model"], Int[Tensor, ""]]:
    """Mean and variance of each feature over the words of the batch, and how many words there are.

    >>> batch_statistics(torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]]), torch.tensor([2, 1]))
    (tensor([3.]), tensor([2.6667]), tensor(3))
    """
    x = _wide(x)
    is_word = padding_mask(lengths, x.shape[1]).mT  # (batch, len, 1)
    n_words = lengths.sum()
    mean = torch.where(is_word, x, 0.0).sum(dim=(0, 1)) / n_words
    variance = torch.where(is_word, (x - mean).square(), 0.0).sum(dim=(0, 1)) / n_words
    return mean, variance, n_words


class LayerNorm(nn.Module):
    """`layer_norm` with its scale and shift, in torch's fused form."""

    def __init__(self, *, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, EPS)


class RMSNorm(nn.Module):
    """`rms_norm` with its scale, in torch's fused form."""

    def __init__(self, *, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        return F.rms_norm(x, self.weight.shape, self.weight, EPS)


class BatchNorm(nn.Module):
    """`batch_norm` with its scale and shift, and the running means that it uses outside training.

    Each batch has a share of MOMENTUM in the running means. The running variance counts n - 1 of n words,
    as torch's does: an estimate for words not in the batch.
    """

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, *, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_variance", torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "batch len model"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch len model"]:
        """Without lengths every place counts as a word."""
        if not self.training:
            return _normalise(x, self.running_mean, self.running_variance, self.weight, self.bias)
        if lengths is None:
            lengths = torch.full(x.shape[:1], x.shape[1], device=x.device)
        mean, variance, n_words = batch_statistics(x, lengths)
        with torch.no_grad():
            unbiased = variance * n_words / (n_words - 1).clamp(min=1)
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), MOMENTUM)
            self.running_variance.lerp_(unbiased.to(self.running_variance.dtype), MOMENTUM)
        return _normalise(x, mean, variance, self.weight, self.bias)


def _normalise(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS
) -> Tensor:
    return ((_wide(x) - mean) * torch.rsqrt(variance + eps) * weight + bias).to(x.dtype)


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


Norm = LayerNorm | RMSNorm | BatchNorm | nn.Identity


def make_norm(kind: str, *, d_model: int) -> Norm:
    """The norm of that name, for the residual path of a block; "none" leaves words as they are.

    >>> make_norm("rms", d_model=4)
    RMSNorm()
    """
    if kind == "layer":
        return LayerNorm(d_model=d_model)
    if kind == "rms":
        return RMSNorm(d_model=d_model)
    if kind == "batch":
        return BatchNorm(d_model=d_model)
    if kind == "none":
        return nn.Identity()
    raise ValueError(f"Expected norm to be layer, rms, batch or none, but got {kind!r}.")
