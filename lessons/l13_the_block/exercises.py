"""The exercises of lesson 13: similarity of words, layer norm, feed-forward, residual path, the block."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers import feed_forward as library
from course_lib.layers import norms, residual
from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- similarity of words


def cosines(x: Tensor) -> Tensor:
    unit = F.normalize(x, dim=-1)
    return unit @ unit.mT


def mean_cosine(x: Tensor) -> Tensor:
    n = x.shape[-2]
    return (cosines(x).sum((-1, -2)) - n) / (n * (n - 1))


LIKENESS = PlainExercise(
    name="likeness",
    variations=("large", "tiny", "equal"),  # a zero vector has no direction
    lesson="the_block",
    inputs=("x",),
    reference=mean_cosine,
    by_hand=ByHand(
        inputs={"x": torch.tensor([[3.0, 4.0], [6.0, 8.0], [4.0, -3.0]])},
        answer=torch.tensor(1 / 3),
        says="The first two words have the same direction: cosine 1, twice (each to the other). The third "
        "stands at a right angle to both: 3 · 4 − 4 · 3 = 0. Six pairs, with a sum of 2: 1/3.",
    ),
    others=(lambda: (normal(5, 8),), lambda: (normal(3, 4, 6, seed=1),), lambda: (normal(2, 3, seed=2) + 2,)),
    slips=(
        Slip(
            "with-itself",
            lambda x: cosines(x).mean((-1, -2)),
            "each word is also compared with itself, and that cosine is always 1. Leave the diagonal out.",
        ),
        Slip(
            "not-divided-by-lengths",
            lambda x: (
                ((x @ x.mT).sum((-1, -2)) - x.square().sum((-1, -2))) / (x.shape[-2] * (x.shape[-2] - 1))
            ),
            "these are dot products. A cosine is divided by both lengths.",
        ),
        Slip(
            "sum-of-pairs",
            lambda x: cosines(x).sum((-1, -2)) - x.shape[-2],
            "the cosines are added up, not averaged: n words have n (n − 1) pairs.",
        ),
        Slip(
            "divided-by-all",
            lambda x: (cosines(x).sum((-1, -2)) - x.shape[-2]) / x.shape[-2] ** 2,
            "the sum is divided by n². Without the diagonal there are n (n − 1) pairs.",
        ),
    ),
)


# ---- layer normalisation


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return norms.layer_norm(x, weight=weight, bias=bias, eps=eps)


def norm_over(
    dims: tuple[int, ...], x: Tensor, weight: Tensor, bias: Tensor, eps: float, *, unbiased: bool = False
):
    mean, variance = x.mean(dims, keepdim=True), x.var(dims, keepdim=True, unbiased=unbiased)
    return (x - mean) / (variance + eps).sqrt() * weight + bias


def norm_case(*shape: int, seed: int, scale: float = 1.0, eps: float = 1e-5) -> Callable[[], tuple]:
    def make() -> tuple:
        x = normal(*shape, seed=seed) * scale + (scale == 1)
        x[..., 0, :] = 2.0  # a word of equal numbers: variance 0
        return x, normal(shape[-1], seed=seed + 1), normal(shape[-1], seed=seed + 2), eps

    return make


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
        says="First word: mean 2, distances −1 and 1, variance (1 + 1) / 2 = 1: −1 and 1. Second: mean 30, "
        "distances −20 and 20, variance 400, root 20: −1 and 1 again. Then times 1 and 2, plus 0 and 5.",
    ),
    others=(
        norm_case(2, 5, 8, seed=0),
        norm_case(4, 6, seed=3),
        norm_case(3, 3, 3, seed=6),
        norm_case(2, 4, 5, seed=9, scale=0.003),
        norm_case(2, 3, 6, seed=12, eps=0.5),
    ),
    slips=(
        Slip(
            "over-the-words",
            lambda x, w, b, eps=1e-5: norm_over((-2,), x, w, b, eps),
            "mean and variance are taken over the words of the sentence. Each word by itself: over its "
            "features, the last axis.",
            misconception="M40",
        ),
        Slip(
            "over-everything",
            lambda x, w, b, eps=1e-5: norm_over((-2, -1), x, w, b, eps),
            "one mean for the whole sentence. Each word has its own: over the last axis alone.",
            misconception="M40",
        ),
        Slip(
            "whole-tensor",
            lambda x, w, b, eps=1e-5: norm_over(tuple(range(x.ndim)), x, w, b, eps),
            "one mean for all numbers there are, as `x.mean()` has it. Each word has its own: `dim=-1`.",
        ),
        Slip(
            "first-axis",
            lambda x, w, b, eps=1e-5: norm_over((0,), x, w, b, eps),
            "mean and variance are taken over the first axis, across sentences. The features are the last "
            "axis: `dim=-1`.",
        ),
        Slip(
            "n-minus-1",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, eps, unbiased=True),
            "the variance is divided by n − 1, as torch's `var` does unless told otherwise. Here it is the "
            "plain mean of the squares: `unbiased=False`.",
        ),
        Slip(
            "root-forgotten",
            lambda x, w, b, eps=1e-5: (
                (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + eps) * w + b
            ),
            "it is divided by the variance. Divide by its root.",
        ),
        Slip(
            "eps-outside",
            lambda x, w, b, eps=1e-5: (
                (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=False) + eps) * w + b
            ),
            "`eps` is added to the standard deviation. It belongs to the variance, under the root.",
        ),
        Slip(
            "eps-fixed",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, 1e-5),
            "`eps` is always 0.00001. Take the one that is handed over.",
        ),
        Slip(
            "no-eps",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, b, 0.0),
            "`eps` is missing: a word of equal numbers has the variance 0, and is divided by 0.",
        ),
        Slip(
            "no-scale",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, torch.ones_like(w), b, eps),
            "the scale is missing: times `weight`.",
        ),
        Slip(
            "no-shift",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, w, torch.zeros_like(b), eps),
            "the shift is missing: plus `bias`.",
        ),
        Slip(
            "no-scale-and-shift",
            lambda x, w, b, eps=1e-5: norm_over((-1,), x, torch.ones_like(w), torch.zeros_like(b), eps),
            "scale and shift are missing: times `weight`, plus `bias`.",
        ),
        Slip(
            "no-mean",
            lambda x, w, b, eps=1e-5: x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w + b,
            "no mean is subtracted. (That is RMSNorm, section 6.)",
        ),
    ),
)


def careful_test(norm: Callable) -> None:
    x = torch.tensor(
        [[[0.0, 1.0, 2.0, 3.0], [10.0, 20.0, 30.0, 50.0]], [[1.0, 1.0, 1.0, 1.0], [4.0, 0.0, 1.0, 2.0]]]
    )
    weight, bias = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 1.0, 0.0, -1.0])
    torch.testing.assert_close(norm(x, weight, bias, 1e-5), F.layer_norm(x, (4,), weight, bias, 1e-5))


TEST_NORM = TestExercise(
    name="test_norm",
    lesson="the_block",
    inputs=("norm",),
    of=LAYER_NORM,
    what="normalisation",
    accepts={"with torch's own": lambda x, w, b, eps=1e-5: F.layer_norm(x, w.shape, w, b, eps)},
    rejects={
        "over-the-words": "averages over the words",
        "over-everything": "averages over the whole sentence",
        "whole-tensor": "averages over all numbers",
        "first-axis": "averages over the first axis",
        "n-minus-1": "divides by n − 1",
        "root-forgotten": "forgets the root",
        "no-scale": "has no scale",
        "no-shift": "has no shift",
        "no-mean": "subtracts no mean",
    },
    reference=careful_test,
)


# ---- feed-forward


def feed_forward(x, w_in, b_in, w_out, b_out):
    return library.feed_forward(x, w_in=w_in, b_in=b_in, w_out=w_out, b_out=b_out)


def feed_case(*lead: int, d: int, d_ff: int, seed: int) -> Callable[[], tuple]:
    shapes = ((*lead, d), (d_ff, d), (d_ff,), (d, d_ff), (d,))
    return lambda: tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


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
        says="The word 3 is widened to 3 and −3, bent to 3 and 0, and narrowed to 3 + 0 + 10 = 13. The word "
        "−4 becomes −4 and 4, then 0 and 4, then 14.",
    ),
    others=(
        feed_case(2, 5, d=4, d_ff=12, seed=0),
        feed_case(3, d=6, d_ff=7, seed=5),
        feed_case(2, 3, d=3, d_ff=3, seed=10),
    ),
    slips=(
        Slip(
            "no-bend",
            lambda x, w_in, b_in, w_out, b_out: F.linear(F.linear(x, w_in, b_in), w_out, b_out),
            "nothing is bent: two linear layers in a row are one linear layer. In between, negative numbers "
            "become 0.",
        ),
        Slip(
            "bent-at-the-end",
            lambda x, w_in, b_in, w_out, b_out: F.relu(feed_forward(x, w_in, b_in, w_out, b_out)),
            "the output is bent too. Only the widened word is; the output may be negative.",
        ),
        Slip(
            "bent-only-at-the-end",
            lambda x, w_in, b_in, w_out, b_out: F.relu(F.linear(F.linear(x, w_in, b_in), w_out, b_out)),
            "the output is bent. Bend the widened word, in between; the output may be negative.",
        ),
        Slip(
            "no-first-bias",
            lambda x, w_in, b_in, w_out, b_out: feed_forward(x, w_in, 0 * b_in, w_out, b_out),
            "`b_in` changes nothing. It is added before the bend.",
        ),
        Slip(
            "no-last-bias",
            lambda x, w_in, b_in, w_out, b_out: feed_forward(x, w_in, b_in, w_out, 0 * b_out),
            "`b_out` changes nothing. It is added at the very end.",
        ),
        Slip(
            "bias-after-bend",
            lambda x, w_in, b_in, w_out, b_out: F.linear(F.relu(F.linear(x, w_in)) + b_in, w_out, b_out),
            "`b_in` is added after the bend. It belongs before it.",
        ),
        Slip(
            "adds-x",
            lambda x, *rest: x + feed_forward(x, *rest),
            "`x` is added to the output. The path past the layer is laid around it later, by `pre_norm`.",
        ),
    ),
)


# ---- the residual path


def pre_norm(x, layer, norm):
    return residual.pre_norm(x, layer, norm=norm)


def first_version(x, layer, norm):
    """As in the lesson's cell, before the learner repairs it."""
    x = norm(x)
    return x + layer(x)


def halved(x: Tensor) -> Tensor:
    return x / 2


def tripled(x: Tensor) -> Tensor:
    return 3 * x


PRE_NORM = PlainExercise(
    name="pre_norm",
    lesson="the_block",
    inputs=("x", "layer", "norm"),
    reference=pre_norm,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"x": torch.tensor([8.0]), "layer": tripled, "norm": halved},
        answer=torch.tensor([20.0]),
        says="Here the norm halves and the layer triples: 8 / 2 = 4, then 3 · 4 = 12, and 8 + 12 = 20.",
    ),
    others=(
        lambda: (normal(2, 3, 4), torch.tanh, lambda x: F.layer_norm(x, (4,))),
        lambda: (normal(5, 6, seed=1), torch.sin, lambda x: x / 3),
        lambda: (normal(3, 2, seed=2), lambda x: 0 * x, torch.tanh),
    ),
    slips=(
        Slip(
            "after-the-sum",
            lambda x, layer, norm: norm(x + layer(x)),
            "the norm comes after the addition, so the path goes through it. Here the layer alone gets to "
            "see the normalised words.",
        ),
        Slip(
            "no-path", lambda x, layer, norm: layer(norm(x)), "nothing goes past the layer: `x` is not added."
        ),
        Slip(
            "no-norm",
            lambda x, layer, norm: x + layer(x),
            "the norm is never used. The layer sees `norm(x)`.",
        ),
        Slip(
            "norm-after-layer",
            lambda x, layer, norm: x + norm(layer(x)),
            "the norm comes after the layer. It belongs before it.",
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
    return layer_norm(x, parts[f"{around}.norm.weight"], parts[f"{around}.norm.bias"])


FIRST, SECOND = "around_attention", "around_feed_forward"


def block(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def post_norm(x, parts, n_heads, mask=None):
    x = normalised(x + attention(x, parts, n_heads, mask), parts, FIRST)
    return normalised(x + feed_forward_part(x, parts), parts, SECOND)


def without_path(x, parts, n_heads, mask=None):
    return feed_forward_part(
        normalised(attention(normalised(x, parts, FIRST), parts, n_heads, mask), parts, SECOND), parts
    )


def norm_on_the_path(x, parts, n_heads, mask=None):
    x = normalised(x, parts, FIRST)
    x = normalised(x + attention(x, parts, n_heads, mask), parts, SECOND)
    return x + feed_forward_part(x, parts)


def side_by_side(x, parts, n_heads, mask=None):
    attended = attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + attended + feed_forward_part(normalised(x, parts, SECOND), parts)


def one_norm_twice(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, FIRST), parts)


def norms_swapped(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, SECOND), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, FIRST), parts)


def feed_first(x, parts, n_heads, mask=None):
    x = x + feed_forward_part(normalised(x, parts, SECOND), parts)
    return x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)


def second_path_missing(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return feed_forward_part(normalised(x, parts, SECOND), parts)


def plain_source(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask, source=x)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def attention_alone(x, parts, n_heads, mask=None):
    return x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)


def make_parts(d: int, d_ff: int, seed: int) -> dict[str, Tensor]:
    shapes = {f"attention.w_{name}": (d, d) for name in ("query", "key", "value", "output")}
    for around in (FIRST, SECOND):
        shapes |= {f"{around}.norm.weight": (d,), f"{around}.norm.bias": (d,)}
    shapes |= {"feed_forward.inner.weight": (d_ff, d), "feed_forward.inner.bias": (d_ff,)}
    shapes |= {"feed_forward.outer.weight": (d, d_ff), "feed_forward.outer.bias": (d,)}
    return {name: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def block_case(batch: int, n: int, d: int, n_heads: int, seed: int, masked: bool) -> Callable[[], tuple]:
    mask = (torch.arange(n) < n - torch.arange(batch)[:, None])[:, None, None] if masked else None
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
        says="One word, (1, 3). Normalised: (−1, 1). It looks at itself alone, so attention says that, times "
        "w_output: (−2, 2). Added to what went past: (−1, 5). Normalised: (−1, 1); the feed-forward "
        "layer bends it to (0, 1). Added: (−1, 6).",
    ),
    others=(
        block_case(2, 5, 8, 2, seed=0, masked=False),
        block_case(2, 4, 6, 3, seed=100, masked=True),
        block_case(3, 3, 4, 1, seed=200, masked=True),
    ),
    slips=(
        Slip("post-norm", post_norm, "the norms come after the additions. Here each comes before its layer."),
        Slip("no-path", without_path, "nothing goes past the layers: `x` is never added."),
        Slip(
            "norm-on-the-path",
            norm_on_the_path,
            "the path itself is normalised: what is added must be the `x` from before the norm.",
        ),
        Slip(
            "side-by-side",
            side_by_side,
            "the feed-forward layer does not see what attention has said. It comes second, and gets the "
            "new `x`.",
        ),
        Slip(
            "one-norm-twice",
            one_norm_twice,
            "the first norm is used twice. The second layer has a norm of its own: `around_feed_forward`.",
        ),
        Slip(
            "norms-swapped",
            norms_swapped,
            "the two norms have changed places: `around_attention` comes first.",
        ),
        Slip("feed-first", feed_first, "the feed-forward layer comes first. Attention does."),
        Slip(
            "second-path-missing",
            second_path_missing,
            "nothing goes past the feed-forward layer: add the `x` that attention has changed.",
        ),
        Slip(
            "plain-source",
            plain_source,
            "the words look at words that are not normalised. Hand `many_heads` the normalised ones twice.",
        ),
        Slip("attention-alone", attention_alone, "the feed-forward layer is missing."),
        Slip(
            "ignores-mask",
            lambda x, parts, n_heads, mask=None: block(x, parts, n_heads),
            "`mask` changes nothing. Hand it on to the attention.",
        ),
        Slip(
            "matrices-as-they-are",
            lambda x, parts, n_heads, mask=None: block(
                x,
                parts | {name: w.T for name, w in parts.items() if name.startswith("attention")},
                n_heads,
                mask,
            ),
            "the four matrices of attention are turned round. `many_heads` writes `x @ w`, and these are "
            "kept as (out, in): hand over `.T`.",
        ),
    ),
)

EXERCISES = (LIKENESS, LAYER_NORM, TEST_NORM, FEED_FORWARD, PRE_NORM, ENCODER_BLOCK)
