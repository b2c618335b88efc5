"""The exercises of lesson 13: layer norm, feed-forward network, the block as a function and as a module."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.layers import feed_forward as library
from course_lib.layers import norms
from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.teaching.exercises import (
    ByHand,
    ModuleExercise,
    PlainExercise,
    Slip,
    TestExercise,
    wrong_only_at,
)
from lessons.l13_the_block import modules


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- layer normalisation


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return norms.layer_norm(x, weight=weight, bias=bias, eps=eps)


def norm_over(
    dims: tuple[int, ...], x: Tensor, weight: Tensor, bias: Tensor, eps: float, *, unbiased: bool = False
):
    mean, variance = x.mean(dims, keepdim=True), x.var(dims, keepdim=True, unbiased=unbiased)
    return (x - mean) / (variance + eps).sqrt() * weight + bias


def divided_by(divisor: Callable[[Tensor, float], Tensor]) -> Callable:
    """The norm with another divisor, which is computed from the deviations and eps."""

    def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        deviations = x - x.mean(-1, keepdim=True)
        return deviations / divisor(deviations, eps) * weight + bias

    return norm


def mean_square(x: Tensor, *, keepdim: bool = True) -> Tensor:
    return x.square().mean(-1, keepdim=keepdim)


def variance(x: Tensor) -> Tensor:
    return x.var(-1, keepdim=True, unbiased=False)


def without_keepdim(*, mean: bool, variance: bool) -> Callable:
    """The mean, the variance or both are computed without `keepdim=True`."""

    def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        deviations = x - x.mean(-1, keepdim=not mean)
        return deviations / (mean_square(deviations, keepdim=not variance) + eps).sqrt() * weight + bias

    return norm


def norm_by_cancellation(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / (mean_square(x) - mean.square() + eps).sqrt() * weight + bias


def norm_by_mean_square(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (mean_square(x) + eps).sqrt() * weight + bias


def norm_case(*shape: int, seed: int, scale: float = 1.0, eps: float = 1e-5) -> Callable[[], tuple]:
    def make() -> tuple:
        x = normal(*shape, seed=seed) * scale + (scale == 1)
        x[..., 0, :] = 2.0  # a word of equal numbers: variance 0
        return x, normal(shape[-1], seed=seed + 1), normal(shape[-1], seed=seed + 2), eps

    return make


def large_mean_case() -> tuple:
    """Words around 1000, with deviations of ½ and −½ from their mean.

    The deviations are exact in float32 and no output is near 0, so all ways of writing the norm agree, and so
    does torch's.
    """
    means = 1000 + torch.tensor([37.0, 101.0, 211.0, 307.0, 419.0, 541.0, 677.0, 907.0]).view(2, 4, 1) / 1024
    deviations = torch.tensor([0.5, -0.5, 0.5, -0.5, -0.5, -0.5, 0.5, 0.5])
    return means + deviations, torch.ones(8), torch.zeros(8), 1e-5


NO_KEEPDIM = "`keepdim=True` is missing in {}, so a word is normalised with the statistics of other words."
LAYER_NORM = PlainExercise(
    name="layer_norm",
    lesson="the_block",
    inputs=("x", "weight", "bias", "eps"),
    reference=layer_norm,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[1.0, 3.0], [10.0, 50.0]]),
            "weight": torch.tensor([1.0, 2.0]),
            "bias": torch.tensor([0.0, 5.0]),
            "eps": 0.0,
        },
        answer=torch.tensor([[-1.0, 7.0], [-1.0, 7.0]]),
        says="The first word has the mean 2, the deviations from it are −1 and 1, and the variance is "
        "(1 + 1) / 2 = 1, so it becomes −1 and 1. The second has the mean 30, the deviations −20 and 20, "
        "and the variance 400, whose root is 20, so it also becomes −1 and 1. Then both are "
        "multiplied by 1 and 2, and 0 and 5 are added.",
    ),
    others=(
        norm_case(2, 5, 8, seed=0),
        norm_case(4, 6, seed=3),
        norm_case(3, 3, 3, seed=6),
        norm_case(2, 4, 5, seed=9, scale=0.003),
        norm_case(2, 3, 6, seed=12, eps=0.5),
        large_mean_case,
        norm_case(2, 2, 3, 4, seed=18),
    ),
    slips=(
        Slip(
            "over-the-words",
            lambda x, w, b, eps=1e-5: norm_over((-2,), x, w, b, eps),
            "mean and variance are computed over the words of the sentence. Compute them for each word, over "
            "its features: the last axis.",
            misconception="M40",
        ),
        Slip(
            "over-everything",
            lambda x, w, b, eps=1e-5: norm_over((-2, -1), x, w, b, eps),
            "there is one mean for the whole sentence. Each word has its own: average over the last axis.",
            misconception="M40",
        ),
        Slip(
            "whole-tensor",
            lambda x, w, b, eps=1e-5: norm_over(tuple(range(x.ndim)), x, w, b, eps),
            "there is one mean for the whole tensor, as in `x.mean()`. Each word has its own: average over "
            "the last axis.",
        ),
        Slip(
            "over-a-sentence-of-a-batch",
            lambda x, w, b, eps=1e-5: norm_over((-2, -1) if x.ndim > 2 else (-1,), x, w, b, eps),
            "in a batch, there is one mean for a whole sentence. Each word has its own: average over the "
            "last axis only.",
            misconception="M40",
        ),
        Slip(
            "all-but-first-axis",
            lambda x, w, b, eps=1e-5: norm_over(tuple(range(1, x.ndim)), x, w, b, eps),
            "mean and variance are computed over all axes but the first. Each word has its own: average over "
            "the last axis only.",
            misconception="M40",
        ),
        Slip(
            "first-axis",
            lambda x, w, b, eps=1e-5: norm_over((0,), x, w, b, eps),
            "mean and variance are computed over the first axis, across the sentences of a batch. The "
            "features are the last axis.",
        ),
        Slip(
            "second-axis",
            lambda x, w, b, eps=1e-5: norm_over((1,), x, w, b, eps),
            "mean and variance are computed over axis 1. In a batch of sentences these are the words; the "
            "features are the last axis.",
            misconception="M40",
        ),
        Slip(
            "third-axis",
            lambda x, w, b, eps=1e-5: norm_over((2,), x, w, b, eps),
            "mean and variance are computed over axis 2, which is the last one only for a batch of "
            "sentences. Use −1, the last axis of any tensor.",
        ),
        Slip(
            "n-minus-1",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, eps, unbiased=True),
            "the sum of the squares is divided by n − 1, torch's default in `var` and `std`. Here the "
            "variance is their mean, so divide by n.",
        ),
        Slip(
            "torch-std",
            divided_by(lambda deviations, eps: deviations.std(-1, keepdim=True) + eps),
            "torch's `std` divides by n − 1, and `eps` is added after the root. Compute the variance as the "
            "mean of the squares, add `eps`, and then take the root.",
        ),
        Slip(
            "scaled-first",
            lambda x, w, b, eps=1e-5: layer_norm(x * w + b, torch.ones_like(w), torch.zeros_like(b), eps),
            "scale and shift are applied before the normalisation. They come after it.",
        ),
        Slip(
            "parentheses",
            lambda x, w, b, eps=1e-5: x - x.mean(-1, keepdim=True) / (variance(x) + eps).sqrt() * w + b,
            "only the mean is divided, and then subtracted from `x`. Put `x - mean` in parentheses.",
        ),
        Slip(
            "one-mean",
            lambda x, w, b, eps=1e-5: (x - x.mean()) / (variance(x) + eps).sqrt() * w + b,
            "there is one mean for the whole tensor. Each word has its own, as it has its own variance.",
        ),
        Slip(
            "one-variance",
            divided_by(lambda deviations, eps: (deviations.square().mean() + eps).sqrt()),
            "there is one variance for the whole tensor. Each word has its own, as it has its own mean.",
        ),
        Slip(
            "multiplied",
            divided_by(lambda deviations, eps: (mean_square(deviations) + eps).rsqrt()),
            "the deviations are multiplied by the standard deviation. Divide by it.",
        ),
        Slip(
            "unit-length",
            lambda x, w, b, eps=1e-5: F.normalize(x - x.mean(-1, keepdim=True), dim=-1) * w + b,
            "the deviations are scaled to a length of 1, as `normalize` does: they are divided by the root "
            "of the sum of their squares. The variance is the mean of the squares, plus `eps`.",
        ),
        Slip(
            "torch-std-no-eps",
            divided_by(lambda deviations, eps: deviations.std(-1, keepdim=True)),
            "torch's `std` divides by n − 1, and `eps` is missing. Compute the variance as the mean of the "
            "squares, add `eps`, and then take the root.",
        ),
        Slip(
            "root-forgotten",
            divided_by(lambda deviations, eps: mean_square(deviations) + eps),
            "the deviations are divided by the variance. Divide by its square root.",
        ),
        Slip(
            "not-divided",
            divided_by(lambda deviations, eps: 1.0),
            "the mean is subtracted, but nothing is divided by the standard deviation.",
        ),
        Slip(
            "sum-of-squares",
            divided_by(lambda deviations, eps: (deviations.square().sum(-1, keepdim=True) + eps).sqrt()),
            "the deviations are divided by the root of the sum of their squares. The variance is their mean.",
        ),
        Slip(
            "mean-absolute",
            divided_by(lambda deviations, eps: deviations.abs().mean(-1, keepdim=True) + eps),
            "the deviations are divided by their mean absolute value, not by the root of their mean square.",
        ),
        Slip(
            "mean-square-of-x",
            norm_by_mean_square,
            "the variance is computed from `x` itself. It is the mean square of the deviations.",
        ),
        Slip(
            "cancellation",
            norm_by_cancellation,
            "the variance is computed as the mean square minus the square of the mean. That is the same on "
            "paper, but for numbers around 1000 both are near a million, and float32 loses their "
            "difference. Square the deviations instead.",
        ),
        Slip(
            "eps-outside",
            divided_by(lambda deviations, eps: mean_square(deviations).sqrt() + eps),
            "`eps` is added to the standard deviation. Add it to the variance, before the root.",
        ),
        Slip(
            "eps-as-minimum",
            divided_by(lambda deviations, eps: mean_square(deviations).clamp(min=eps).sqrt()),
            "`eps` is used as a minimum of the variance. Add it to every variance instead.",
        ),
        Slip(
            "eps-fixed",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, 1e-5),
            "`eps` is always 0.00001. Use the argument.",
        ),
        Slip(
            "no-eps",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, 0.0),
            "`eps` is missing: a word of equal numbers has the variance 0, and 0 / 0 is NaN.",
        ),
        Slip(
            "no-scale",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, torch.ones_like(w), b, eps),
            "the scale is missing: multiply by `weight`.",
        ),
        Slip(
            "no-shift",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, torch.zeros_like(b), eps),
            "the shift is missing: add `bias`.",
        ),
        Slip(
            "no-scale-and-shift",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, torch.ones_like(w), torch.zeros_like(b), eps),
            "scale and shift are missing: multiply by `weight`, then add `bias`.",
        ),
        Slip(
            "shift-before-scale",
            lambda x, w, b, eps=1e-5: (layer_norm(x, torch.ones_like(w), b, eps)) * w,
            "the shift is added before the scale, so it is scaled as well. Multiply by `weight` first, then "
            "add `bias`.",
        ),
        Slip(
            "no-mean",
            lambda x, w, b, eps=1e-5: x / (mean_square(x) + eps).sqrt() * w + b,
            "the mean isn't subtracted. That is RMSNorm, a different kind of norm.",
        ),
        Slip(
            "no-keepdim",
            without_keepdim(mean=True, variance=True),
            NO_KEEPDIM.format("the mean and the variance"),
        ),
        Slip("no-keepdim-mean", without_keepdim(mean=True, variance=False), NO_KEEPDIM.format("the mean")),
        Slip(
            "no-keepdim-variance",
            without_keepdim(mean=False, variance=True),
            NO_KEEPDIM.format("the variance"),
        ),
    ),
)


def careful_test(norm: Callable) -> None:
    x = torch.tensor(
        [[[0.0, 1.0, 2.0, 3.0], [10.0, 20.0, 30.0, 50.0]], [[1.0, 1.0, 1.0, 1.0], [4.0, 0.0, 1.0, 2.0]]]
    )
    weight, bias = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 1.0, 0.0, -1.0])
    torch.testing.assert_close(norm(x, weight, bias, 0.5), F.layer_norm(x, (4,), weight, bias, 0.5))


def not_normalised(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return x


TEST_NORM = TestExercise(
    name="test_norm",
    lesson="the_block",
    inputs=("norm",),
    of=LAYER_NORM,
    what="normalisation",
    accepts={
        "with torch's own": lambda x, w, b, eps=1e-5: F.layer_norm(x, w.shape, w, b, eps),
        "step by step": divided_by(lambda deviations, eps: (mean_square(deviations) + eps).sqrt()),
    },
    rejects={
        "over-the-words": "averages over the words",
        "over-everything": "averages over the whole sentence",
        "whole-tensor": "averages over the whole tensor",
        "first-axis": "averages over the first axis",
        "second-axis": "averages over axis 1 (right only without a batch)",
        "n-minus-1": "divides by n − 1",
        "root-forgotten": "divides by the variance",
        "no-mean": "doesn't subtract the mean",
        "no-eps": "doesn't add eps",
        "no-scale": "doesn't multiply by the weight",
        "no-shift": "doesn't add the bias",
        "shift-before-scale": "adds the bias before it multiplies by the weight",
    },
    wrong={
        "doesn't normalise the last word": wrong_only_at((..., -1, slice(None)), layer_norm, not_normalised),
        "normalises the first sentence only": wrong_only_at(slice(1, None), layer_norm, not_normalised),
        "doesn't normalise the last feature": wrong_only_at((..., -1), layer_norm, not_normalised),
    },
    reference=careful_test,
)


# ---- feed-forward


def feed_forward(x, w_in, b_in, w_out, b_out):
    return library.feed_forward(x, w_in=w_in, b_in=b_in, w_out=w_out, b_out=b_out)


def feed_case(*lead: int, d: int, d_ff: int, seed: int) -> Callable[[], tuple]:
    shapes = ((*lead, d), (d_ff, d), (d_ff,), (d, d_ff), (d,))
    return lambda: tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


def activated_by(activation: Callable[[Tensor], Tensor]) -> Callable:
    """The feed-forward network with another activation function."""
    return lambda x, w_in, b_in, w_out, b_out: F.linear(activation(F.linear(x, w_in, b_in)), w_out, b_out)


ACTIVATIONS = {
    "GELU": F.gelu,
    "SiLU": F.silu,
    "leaky ReLU": F.leaky_relu,
    "ELU": F.elu,
    "softplus": F.softplus,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda hidden: hidden.softmax(-1),
}


def by_unbiased_sign(x, w_in, b_in, w_out, b_out):
    hidden = F.linear(x, w_in)
    return F.linear((hidden + b_in) * (hidden > 0), w_out, b_out)


def with_columns(x, w_in, b_in, w_out, b_out):
    """Words as columns, by `.T`, which reverses all axes of a batch."""
    columns = x.permute(*reversed(range(x.ndim)))
    output = w_out @ F.relu(w_in @ columns + b_in[:, None]) + b_out[:, None]
    return output.permute(*reversed(range(x.ndim)))


FEED_FORWARD = PlainExercise(
    name="feed_forward",
    lesson="the_block",
    inputs=("x", "w_in", "b_in", "w_out", "b_out"),
    reference=feed_forward,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[3.0], [-4.0]]),
            "w_in": torch.tensor([[1.0], [-1.0]]),
            "b_in": torch.tensor([0.0, 0.0]),
            "w_out": torch.tensor([[1.0, 1.0]]),
            "b_out": torch.tensor([10.0]),
        },
        answer=torch.tensor([[13.0], [14.0]]),
        says="The first matrix turns the word 3 into 3 and −3, ReLU into 3 and 0, and the second matrix into "
        "3 + 0 + 10 = 13. The word −4 becomes −4 and 4, then 0 and 4, then 14.",
    ),
    others=(
        feed_case(2, 5, d=4, d_ff=12, seed=0),
        feed_case(3, d=6, d_ff=7, seed=5),
        feed_case(2, 3, d=3, d_ff=3, seed=10),
    ),
    slips=(
        Slip(
            "no-relu",
            activated_by(lambda hidden: hidden),
            "the nonlinearity is missing, and two linear layers in a row are only one linear layer. Apply "
            "ReLU between them.",
        ),
        Slip(
            "relu-at-the-end-too",
            lambda x, *weights: F.relu(feed_forward(x, *weights)),
            "ReLU is applied to the output as well. Apply it to the hidden layer only; the output may be "
            "negative.",
        ),
        Slip(
            "relu-at-the-end",
            lambda x, w_in, b_in, w_out, b_out: F.relu(F.linear(F.linear(x, w_in, b_in), w_out, b_out)),
            "ReLU is applied to the output. Apply it to the hidden layer; the output may be negative.",
        ),
        Slip(
            "relu-first",
            lambda x, w_in, b_in, w_out, b_out: F.linear(F.linear(F.relu(x), w_in, b_in), w_out, b_out),
            "ReLU is applied to `x`. Apply it to the hidden layer, after the first matrix and its bias.",
        ),
        Slip(
            "bias-after-relu",
            lambda x, w_in, b_in, w_out, b_out: F.linear(F.relu(F.linear(x, w_in)) + b_in, w_out, b_out),
            "`b_in` is added after the ReLU. Add it before.",
        ),
        Slip(
            "no-biases",
            lambda x, w_in, b_in, w_out, b_out: F.linear(F.relu(F.linear(x, w_in)), w_out),
            "both biases are missing. Add `b_in` before the ReLU and `b_out` at the end.",
        ),
        Slip(
            "sign-without-bias",
            by_unbiased_sign,
            "which numbers become 0 is decided before `b_in` is added. Add it first.",
        ),
        *(
            Slip(
                f"activation-{name.split()[0].lower()}",
                activated_by(activation),
                f"the activation function seems to be {name}. Here it is ReLU, max(0, ·).",
            )
            for name, activation in ACTIVATIONS.items()
        ),
        Slip(
            "absolute-value",
            activated_by(torch.abs),
            "negative numbers change their sign, as `abs` does. ReLU turns them into 0.",
        ),
        Slip(
            "keeps-negative",
            activated_by(lambda hidden: hidden.clamp(max=0)),
            "the positive numbers become 0 and the negative ones stay. ReLU does the opposite: max(0, ·).",
        ),
        Slip(
            "clamped-at-1",
            activated_by(lambda hidden: hidden.clamp(0, 1)),
            "numbers above 1 become 1. ReLU has no upper limit.",
        ),
        Slip(
            "largest-hidden",
            activated_by(lambda hidden: hidden.amax(-1, keepdim=True).clamp(min=0).expand_as(hidden)),
            "all hidden numbers become the largest one. max(0, ·) compares each number with 0.",
        ),
        Slip(
            "not-transposed",
            lambda x, w_in, b_in, w_out, b_out: F.relu(x @ w_in + b_in) @ w_out + b_out,
            "the matrices have the shape (out, in), so `x @ w` needs the transpose of `w`.",
        ),
        Slip(
            "matrices-swapped",
            lambda x, w_in, b_in, w_out, b_out: F.relu(x @ w_out + b_in) @ w_in + b_out,
            "`w_in` and `w_out` are swapped. The shapes fit, but `w_in` comes first: it has the shape "
            "(out, in), so `x @ w` needs its transpose.",
        ),
        Slip(
            "formula-for-columns",
            lambda x, w_in, b_in, w_out, b_out: w_out @ F.relu(w_in @ x + b_in) + b_out,
            "the formula is for a word as a column. In code the words are rows, so write `x @ w.T` instead "
            "of `w @ x`.",
        ),
        Slip(
            "words-as-columns",
            with_columns,
            "`.T` reverses all axes, which is a transpose for two axes only. Use `.mT`, or leave the words "
            "as rows and transpose the matrices.",
        ),
        Slip(
            "adds-x",
            lambda x, *weights: x + feed_forward(x, *weights),
            "`x` is added to the output. The residual connection isn't part of this network; it comes with "
            "the block.",
        ),
    ),
)


# ---- the block


def attention(x, parts, n_heads, mask, source=None):
    source = x if source is None else source
    inputs = {"query": x, "key": source, "value": source}
    query, keys, values = (
        split_heads(F.linear(words, parts[f"attention.w_{name}"]), n_heads=n_heads)
        for name, words in inputs.items()
    )
    context, _ = multi_head(query, keys, values, mask=mask)
    return F.linear(join_heads(context), parts["attention.w_output"])


def feed_forward_part(x, parts):
    inner, outer = "feed_forward.inner.", "feed_forward.outer."
    return feed_forward(
        x, *(parts[matrix + kind] for matrix in (inner, outer) for kind in ("weight", "bias"))
    )


def normalised(x, parts, around):
    if around is None:
        return x
    return layer_norm(x, parts[f"{around}.norm.weight"], parts[f"{around}.norm.bias"])


FIRST, SECOND = "around_attention", "around_feed_forward"


def block(x, parts, n_heads, mask=None, *, first=FIRST, second=SECOND, feed=feed_forward_part):
    """The encoder block; other norms (None for none) or another feed-forward network make it wrong."""
    x = x + attention(normalised(x, parts, first), parts, n_heads, mask)
    return x + feed(normalised(x, parts, second), parts)


def block_with(**changes: Any) -> Callable:
    return lambda *inputs: block(*inputs, **changes)


def with_parts(change: Callable[[dict], dict]) -> Callable:
    """The right block, with other weights."""
    return lambda x, parts, n_heads, mask=None: block(x, parts | change(parts), n_heads, mask)


def swap_parts(one: str, other: str) -> Callable:
    return with_parts(lambda parts: {one: parts[other], other: parts[one]})


def transpose_attention(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: matrix.T for name, matrix in parts.items() if name.startswith("attention")}


def without_relu(x, parts):
    hidden = F.linear(x, parts["feed_forward.inner.weight"], parts["feed_forward.inner.bias"])
    return F.linear(hidden, parts["feed_forward.outer.weight"], parts["feed_forward.outer.bias"])


def attended(x, parts, n_heads, mask):
    """What attention returns for the normalised words."""
    return attention(normalised(x, parts, FIRST), parts, n_heads, mask)


def fed(x, parts):
    """What the feed-forward network returns for the normalised words."""
    return feed_forward_part(normalised(x, parts, SECOND), parts)


def post_norm(x, parts, n_heads, mask=None):
    x = normalised(x + attention(x, parts, n_heads, mask), parts, FIRST)
    return normalised(x + feed_forward_part(x, parts), parts, SECOND)


def without_residuals(x, parts, n_heads, mask=None):
    return fed(attended(x, parts, n_heads, mask), parts)


def without_first_residual(x, parts, n_heads, mask=None):
    x = attended(x, parts, n_heads, mask)
    return x + fed(x, parts)


def without_second_residual(x, parts, n_heads, mask=None):
    return fed(x + attended(x, parts, n_heads, mask), parts)


def normalised_residuals(*, first: bool, second: bool) -> Callable:
    """The normalised words are added instead of the words themselves."""

    def changed_block(x, parts, n_heads, mask=None):
        x = (normalised(x, parts, FIRST) if first else x) + attended(x, parts, n_heads, mask)
        return (normalised(x, parts, SECOND) if second else x) + fed(x, parts)

    return changed_block


def in_parallel(x, parts, n_heads, mask=None):
    return x + attended(x, parts, n_heads, mask) + fed(x, parts)


def attention_lost(x, parts, n_heads, mask=None):
    return x + fed(x + attended(x, parts, n_heads, mask), parts)


def feeds_attention_output(x, parts, n_heads, mask=None):
    output = attended(x, parts, n_heads, mask)
    return x + output + fed(output, parts)


def feed_first(x, parts, n_heads, mask=None):
    x = x + fed(x, parts)
    return x + attended(x, parts, n_heads, mask)


def plain_source(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask, source=x)
    return x + fed(x, parts)


def plain_query(x, parts, n_heads, mask=None):
    x = x + attention(x, parts, n_heads, mask, source=normalised(x, parts, FIRST))
    return x + fed(x, parts)


def residuals_twice(x, parts, n_heads, mask=None):
    x = 2 * x + attended(x, parts, n_heads, mask)
    return 2 * x + fed(x, parts)


def norms_twice(x, parts, n_heads, mask=None):
    x = x + attended(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + fed(normalised(x, parts, SECOND), parts)


def norm_after_layers(x, parts, n_heads, mask=None):
    x = x + normalised(attention(x, parts, n_heads, mask), parts, FIRST)
    return x + normalised(feed_forward_part(x, parts), parts, SECOND)


def feeds_first_normalised(x, parts, n_heads, mask=None):
    seen = normalised(x, parts, FIRST)
    x = x + attention(seen, parts, n_heads, mask)
    return x + feed_forward_part(seen, parts)


def causal(x: Tensor, mask: Tensor | None) -> Tensor:
    earlier = torch.ones(x.shape[-2], x.shape[-2]).tril() == 1
    return earlier if mask is None else earlier & mask


def plain_norms(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    kinds = {"norm.weight": torch.ones_like, "norm.bias": torch.zeros_like}
    return {
        f"{a}.{kind}": make(parts[f"{a}.{kind}"]) for a in (FIRST, SECOND) for kind, make in kinds.items()
    }


def without_biases(of: str) -> Callable:
    """Without the biases of the norms or of the feed-forward network."""

    def change(parts: dict[str, Tensor]) -> dict[str, Tensor]:
        names = [name for name in parts if name.endswith("bias") and (".norm." in name) == (of == "norms")]
        return {name: torch.zeros_like(parts[name]) for name in names}

    return with_parts(change)


def swap_norm_parameters(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    other = {"weight": "bias", "bias": "weight"}
    return {f"{a}.norm.{kind}": parts[f"{a}.norm.{other[kind]}"] for a in (FIRST, SECOND) for kind in other}


def norm_at_the_end(x, parts, n_heads, mask=None):
    return normalised(block(x, parts, n_heads, mask), parts, SECOND)


def make_parts(d: int, d_ff: int, seed: int) -> dict[str, Tensor]:
    shapes = {f"attention.w_{name}": (d, d) for name in ("query", "key", "value", "output")}
    for around in (FIRST, SECOND):
        shapes |= {f"{around}.norm.weight": (d,), f"{around}.norm.bias": (d,)}
    shapes |= {"feed_forward.inner.weight": (d_ff, d), "feed_forward.inner.bias": (d_ff,)}
    shapes |= {"feed_forward.outer.weight": (d, d_ff), "feed_forward.outer.bias": (d,)}
    return {name: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def block_case(batch: int, n: int, d: int, n_heads: int, seed: int, masked: bool) -> Callable[[], tuple]:
    """If masked, the sentences have n − 1, n − 2 … words: each has padding, and at least one word."""
    lengths = (n - 1 - torch.arange(batch)).clamp(min=1)
    mask = (torch.arange(n) < lengths[:, None])[:, None, None] if masked else None
    return lambda: (normal(batch, n, d, seed=seed), make_parts(d, 2 * d + 1, seed + 50), n_heads, mask)


def hand_parts() -> dict[str, Tensor]:
    eye, zeros, ones = torch.eye(2), torch.zeros(2), torch.ones(2)
    parts = {"attention.w_query": eye, "attention.w_key": eye, "attention.w_value": eye}
    parts |= {"attention.w_output": 2 * eye, f"{FIRST}.norm.weight": ones, f"{FIRST}.norm.bias": zeros}
    parts |= {f"{SECOND}.norm.weight": ones, f"{SECOND}.norm.bias": zeros}
    parts |= {"feed_forward.inner.weight": eye, "feed_forward.inner.bias": zeros}
    return parts | {"feed_forward.outer.weight": eye, "feed_forward.outer.bias": zeros}


ENCODER_BLOCK = PlainExercise(
    name="encoder_block",
    lesson="the_block",
    inputs=("x", "parts", "n_heads", "mask"),
    reference=block,
    by_hand=ByHand(
        inputs={"x": torch.tensor([[[1.0, 3.0]]]), "parts": hand_parts(), "n_heads": 1, "mask": None},
        answer=torch.tensor([[[-1.0, 6.0]]]),
        says="There is one word, (1, 3). Normalised, it is (−1, 1). It can only attend to itself, so "
        "attention returns (−1, 1) times w_output: (−2, 2). Added to the word: (−1, 5). Normalised again: "
        "(−1, 1). The feed-forward network turns this into (0, 1), because of the ReLU. Added: (−1, 6).",
    ),
    others=(
        block_case(2, 5, 8, 2, seed=0, masked=False),
        block_case(2, 4, 6, 3, seed=100, masked=True),
        block_case(3, 3, 4, 1, seed=200, masked=True),
    ),
    slips=(
        Slip(
            "post-norm",
            post_norm,
            "the norms come after the sums, which is post-norm. Here each comes before its layer.",
        ),
        Slip(
            "no-residuals",
            without_residuals,
            "both residual connections are missing: add `x` to the output of each layer.",
        ),
        Slip(
            "first-residual-missing",
            without_first_residual,
            "the residual connection around attention is missing: add `x` to its output.",
        ),
        Slip(
            "second-residual-missing",
            without_second_residual,
            "the residual connection around the feed-forward network is missing: add `x`, which by then "
            "includes the output of attention.",
        ),
        *(
            Slip(
                f"norm-on-{which}",
                normalised_residuals(first="first" in which, second="second" in which),
                f"the normalised words are added {where}. Add the `x` from before the norm.",
            )
            for which, where in {
                "first-and-second-residual": "in both residual connections",
                "first-residual": "to the output of attention",
                "second-residual": "to the output of the feed-forward network",
            }.items()
        ),
        Slip(
            "in-parallel",
            in_parallel,
            "the feed-forward network doesn't get the output of attention. It comes second: its input is the "
            "new `x`.",
        ),
        Slip(
            "attention-lost",
            attention_lost,
            "the second residual connection adds the input of the block. Add the new `x`, which contains the "
            "output of attention.",
        ),
        Slip(
            "feeds-attention-output",
            feeds_attention_output,
            "the feed-forward network gets the output of attention alone. Its input is the sum of `x` and "
            "that output, normalised.",
        ),
        Slip("feed-first", feed_first, "the feed-forward network comes first. Attention should."),
        Slip(
            "attention-alone", lambda x, *rest: x + attended(x, *rest), "the feed-forward network is missing."
        ),
        Slip("feed-forward-alone", lambda x, parts, *_: x + fed(x, parts), "attention is missing."),
        Slip(
            "one-norm-twice",
            block_with(second=FIRST),
            "the norm of attention is used twice. The feed-forward network has its own, "
            "`around_feed_forward`.",
        ),
        Slip(
            "second-norm-twice",
            block_with(first=SECOND),
            "the norm of the feed-forward network is used twice. Attention has its own, `around_attention`.",
        ),
        Slip(
            "norms-swapped",
            block_with(first=SECOND, second=FIRST),
            "the two norms are swapped: `around_attention` comes first.",
        ),
        Slip(
            "no-norms",
            block_with(first=None, second=None),
            "both norms are missing. Each layer gets the normalised `x`.",
        ),
        Slip(
            "no-first-norm",
            block_with(first=None),
            "the norm before attention is missing.",
        ),
        Slip(
            "no-second-norm",
            block_with(second=None),
            "the norm before the feed-forward network is missing.",
        ),
        Slip(
            "norm-at-the-end",
            norm_at_the_end,
            "the output is normalised. With pre-norm, only the inputs of the layers are.",
        ),
        Slip(
            "norm-after-layers",
            norm_after_layers,
            "each norm is applied to the output of its layer. Normalise the input of the layer instead.",
        ),
        Slip(
            "feeds-first-normalised",
            feeds_first_normalised,
            "the feed-forward network gets the same normalised words as attention. Normalise again, after "
            "the output of attention has been added.",
        ),
        Slip(
            "plain-norms",
            with_parts(plain_norms),
            "the weights and biases of the norms have no effect. Pass them to `layer_norm`.",
        ),
        Slip(
            "no-norm-biases",
            without_biases("norms"),
            "the biases of both norms are missing.",
        ),
        Slip(
            "no-feed-forward-biases",
            without_biases("feed-forward"),
            "both biases of the feed-forward network are missing.",
        ),
        Slip(
            "norm-parameters-swapped",
            with_parts(swap_norm_parameters),
            "the weight and the bias of each norm are swapped.",
        ),
        Slip(
            "adds-input-again",
            lambda x, *rest: x + block(x, *rest),
            "the input of the block is added once more at the end. The two residual connections are enough.",
        ),
        Slip(
            "residuals-twice",
            residuals_twice,
            "`x` is added twice in each residual connection.",
        ),
        Slip(
            "norms-twice",
            norms_twice,
            "the input of each layer is normalised twice.",
        ),
        Slip(
            "plain-source",
            plain_source,
            "keys and values come from words that aren't normalised. Pass the normalised words to "
            "`many_heads` both times.",
        ),
        Slip(
            "plain-query",
            plain_query,
            "the queries come from words that aren't normalised. Pass the normalised words to `many_heads` "
            "both times.",
        ),
        Slip(
            "no-relu",
            block_with(feed=without_relu),
            "the feed-forward network has no ReLU between its two matrices.",
        ),
        Slip(
            "ignores-mask",
            lambda x, parts, n_heads, mask=None: block(x, parts, n_heads),
            "`mask` has no effect. Pass it on to the attention.",
        ),
        Slip(
            "causal",
            lambda x, parts, n_heads, mask=None: block(x, parts, n_heads, causal(x, mask)),
            "a word attends only to itself and to earlier words. That is the decoder; in the encoder every "
            "word attends to all words.",
        ),
        Slip(
            "mask-inverted",
            lambda x, parts, n_heads, mask=None: block(x, parts, n_heads, None if mask is None else ~mask),
            "the mask is inverted. True means that a word may be attended to.",
        ),
        *(
            Slip(
                f"{count}-heads",
                lambda x, parts, n_heads, mask=None, count=count: block(x, parts, count, mask),
                f"the number of heads is always {count}. Use `n_heads`.",
            )
            for count in (1, 4)
        ),
        Slip(
            "matrices-transposed",
            with_parts(transpose_attention),
            "the four matrices of attention are transposed. `many_heads` expects them as they are, (out, "
            "in).",
        ),
        *(
            Slip(
                f"{one}-and-{other}-swapped",
                swap_parts(f"attention.w_{one}", f"attention.w_{other}"),
                f"the matrices `attention.w_{one}` and `attention.w_{other}` are swapped.",
            )
            for one, other in combinations(("query", "key", "value", "output"), 2)
        ),
        *(
            Slip(
                f"{used}-twice-no-{unused}",
                with_parts(
                    lambda parts, used=used, unused=unused: {
                        f"attention.w_{unused}": parts[f"attention.w_{used}"]
                    }
                ),
                f"`attention.w_{used}` is used twice, and `attention.w_{unused}` not at all.",
            )
            for used, unused in permutations(("query", "key", "value"), 2)
        ),
    ),
)


# ---- the block as torch modules


class WithoutRelu(modules.FeedForward):
    def forward(self, x):
        return self.outer(self.inner(x))


class ReluAtTheEnd(modules.FeedForward):
    def forward(self, x):
        return torch.relu(self.outer(self.inner(x)))


class ReluTwice(modules.FeedForward):
    def forward(self, x):
        return torch.relu(super().forward(x))


class AddsItsInput(modules.FeedForward):
    def forward(self, x):
        return x + super().forward(x)


class Gelu(modules.FeedForward):
    def forward(self, x):
        return self.outer(F.gelu(self.inner(x)))


FEED_FORWARD_MODULE = ModuleExercise(
    name="FeedForward",
    lesson="the_block",
    inputs=("d_model", "d_ff"),
    reference=modules.FeedForward,
    sizes=((6, 10), (4, 4)),
    calls=(
        lambda d_model, d_ff: {"x": normal(2, 5, d_model)},
        lambda d_model, d_ff: {"x": 30 * normal(3, d_model, seed=1)},
    ),
    initial_sizes=(64, 256),
    slips=(
        Slip("no-relu", WithoutRelu, "there is no ReLU between the two linear layers."),
        Slip(
            "relu-at-the-end", ReluAtTheEnd, "ReLU is applied to the output. It belongs between the layers."
        ),
        Slip("relu-at-the-end-too", ReluTwice, "ReLU is applied to the output as well. Leave it out there."),
        Slip("adds-x", AddsItsInput, "`x` is added to the output. `Residual` will do that."),
        Slip("gelu", Gelu, "the activation function is GELU. Here it is ReLU."),
    ),
)


def residual_with(forward: Callable) -> type[nn.Module]:
    """The block with another `forward` of its residual connections: a function of self, x and layer."""
    changed = type("Residual", (modules.Residual,), {"forward": forward})

    class Changed(modules.EncoderBlock):
        def __init__(self, d_model, n_heads, d_ff, dropout):
            super().__init__(d_model, n_heads, d_ff, dropout)
            self.around_attention = changed(d_model, dropout)
            self.around_feed_forward = changed(d_model, dropout)

    return Changed


def block_forward(forward: Callable) -> type[nn.Module]:
    """The block with another `forward`: a function of self, x and mask."""
    return type("EncoderBlock", (modules.EncoderBlock,), {"forward": forward})


def dropout_of_attention_only(self, x, mask=None):
    x = self.around_attention(x, lambda x: self.attention(x, x, mask))
    return x + self.feed_forward(self.around_feed_forward.norm(x))


def dropout_of_feed_forward_only(self, x, mask=None):
    normed = self.around_attention.norm(x)
    return self.around_feed_forward(x + self.attention(normed, normed, mask), self.feed_forward)


def feed_forward_first(self, x, mask):
    x = self.around_feed_forward(x, self.feed_forward)
    return self.around_attention(x, lambda x: self.attention(x, x, mask))


def without_mask(self, x, mask):
    return modules.EncoderBlock.forward(self, x)


def residuals_swapped(self, x, mask):
    x = self.around_feed_forward(x, lambda x: self.attention(x, x, mask))
    return self.around_attention(x, self.feed_forward)


def one_residual(self, x, mask):
    x = self.around_attention(x, lambda x: self.attention(x, x, mask))
    return self.around_attention(x, self.feed_forward)


def adds_again(self, x, mask):
    x = x + self.around_attention(x, lambda x: self.attention(x, x, mask))
    return x + self.around_feed_forward(x, self.feed_forward)


def same_input(self, x, mask):
    attended = self.around_attention(x, lambda x: self.attention(x, x, mask))
    return attended + self.around_feed_forward(x, self.feed_forward) - x


def without_attention(self, x, mask):
    return self.around_feed_forward(x, self.feed_forward)


def without_feed_forward(self, x, mask):
    return self.around_attention(x, lambda x: self.attention(x, x, mask))


def source_without_norm(self, x, mask):
    source = x
    x = self.around_attention(x, lambda x: self.attention(x, source, mask))
    return self.around_feed_forward(x, self.feed_forward)


def heads_always(count: int) -> type[nn.Module]:
    class Changed(modules.EncoderBlock):
        def __init__(self, d_model, n_heads, d_ff, dropout):
            super().__init__(d_model, count, d_ff, dropout)

    return Changed


def mask_case(d_model, n_heads, d_ff, dropout):
    lengths = torch.tensor([4, 2])
    return {"x": normal(2, 5, d_model, seed=3), "mask": (torch.arange(5) < lengths[:, None])[:, None, None]}


BLOCK_MODULE = ModuleExercise(
    name="EncoderBlock",
    lesson="the_block",
    inputs=("d_model", "n_heads", "d_ff", "dropout"),
    reference=modules.EncoderBlock,
    sizes=((8, 2, 12, 0.5), (12, 3, 4, 0.1)),  # both widths can be shared by 4 heads
    calls=(
        lambda d_model, n_heads, d_ff, dropout: {"x": normal(2, 5, d_model), "mask": None},
        mask_case,
    ),
    initial_sizes=(64, 4, 256, 0.1),
    silenced={
        "attention": ("feed_forward.outer.weight", "feed_forward.outer.bias"),
        "feed-forward network": ("attention.w_output",),
    },
    slips=(
        Slip(
            "post-norm",
            residual_with(lambda self, x, layer: self.norm(x + self.dropout(layer(x)))),
            "the norm is applied after the addition, which is post-norm. Normalise the input of the layer.",
        ),
        Slip(
            "no-residual",
            residual_with(lambda self, x, layer: self.dropout(layer(self.norm(x)))),
            "the residual connection is missing: add `x` to the output of the layer.",
        ),
        Slip(
            "norm-on-the-residual",
            residual_with(lambda self, x, layer: self.norm(x) + self.dropout(layer(self.norm(x)))),
            "the normalised `x` is added. Add the `x` from before the norm.",
        ),
        Slip(
            "no-norm",
            residual_with(lambda self, x, layer: x + self.dropout(layer(x))),
            "the norm isn't used. The layer gets the normalised `x`.",
        ),
        Slip(
            "norm-after-layer",
            residual_with(lambda self, x, layer: x + self.dropout(self.norm(layer(x)))),
            "the norm is applied to the output of the layer. Normalise its input.",
        ),
        Slip(
            "dropout-after-addition",
            residual_with(lambda self, x, layer: self.dropout(x + layer(self.norm(x)))),
            "dropout is applied after the addition, so it also removes parts of `x`. Apply it to the output "
            "of the layer.",
        ),
        Slip(
            "dropout-of-normalised",
            residual_with(lambda self, x, layer: x + layer(self.dropout(self.norm(x)))),
            "dropout is applied to the input of the layer. Apply it to the output.",
        ),
        Slip(
            "dropout-of-input",
            residual_with(lambda self, x, layer: x + layer(self.norm(self.dropout(x)))),
            "dropout is applied before the norm. Apply it to the output of the layer.",
        ),
        Slip(
            "dropout-unused",
            residual_with(lambda self, x, layer: x + layer(self.norm(x))),
            "`self.dropout` is never called, or it doesn't get the constructor's `dropout`.",
        ),
        Slip(
            "dropout-of-attention-only",
            block_forward(dropout_of_attention_only),
            "dropout is applied to the output of the attention, but not to that of the feed-forward network.",
        ),
        Slip(
            "dropout-of-feed-forward-only",
            block_forward(dropout_of_feed_forward_only),
            "dropout is applied to the output of the feed-forward network, but not to that of the attention.",
        ),
        Slip(
            "feed-forward-first",
            block_forward(feed_forward_first),
            "the feed-forward network comes first. Attention should.",
        ),
        Slip(
            "ignores-mask", block_forward(without_mask), "`mask` has no effect. Pass it on to the attention."
        ),
        Slip(
            "residuals-swapped",
            block_forward(residuals_swapped),
            "`around_attention` and `around_feed_forward` are swapped.",
        ),
        Slip(
            "one-residual-twice",
            block_forward(one_residual),
            "`around_attention` is used twice. The feed-forward network has its own, `around_feed_forward`.",
        ),
        Slip("adds-again", block_forward(adds_again), "`x` is added twice. `Residual` already adds it."),
        Slip(
            "in-parallel",
            block_forward(same_input),
            "the feed-forward network gets the block's input. It should get the result of the first "
            "residual connection.",
        ),
        Slip(
            "no-attention",
            block_forward(without_attention),
            "the output of the attention is lost: either it is never called, or its result isn't passed on.",
        ),
        Slip(
            "no-feed-forward",
            block_forward(without_feed_forward),
            "the output of the feed-forward network is lost: either it is never called, or its result isn't "
            "returned.",
        ),
        Slip(
            "source-without-norm",
            block_forward(source_without_norm),
            "keys and values come from words that aren't normalised. Both arguments of the attention are the "
            "normalised words.",
        ),
        Slip("4-heads", heads_always(4), "the number of heads is always 4. Use `n_heads`."),
    ),
)

EXERCISES = (LAYER_NORM, TEST_NORM, FEED_FORWARD, ENCODER_BLOCK, FEED_FORWARD_MODULE, BLOCK_MODULE)
