"""The exercises of lesson 13: layer norm, feed-forward network, the block as a function and as a module."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.layers.norms import layer_norm
from course_lib.teaching.exercises import (
    ByHand,
    ModuleExercise,
    PlainExercise,
    Slip,
    TestExercise,
    known_mistakes,
    wrong_only_at,
)
from lessons.l13_the_block import modules, solutions


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- layer normalisation


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


LAYER_NORM = PlainExercise(
    name="layer_norm",
    lesson="the_block",
    inputs=("x", "weight", "bias", "eps"),
    reference=solutions.layer_norm,
    answered_by=(
        "torch.nn.LayerNorm",
        "torch.nn.functional.layer_norm",
        "torch.nn.functional.group_norm",
        "torch.layer_norm",
        "torch.native_layer_norm",
    ),
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
    slips=known_mistakes(solutions.layer_norm),
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
        "step by step": lambda x, w, b, eps=1e-5: layer_norm(x, weight=w, bias=b, eps=eps),
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
        "doesn't normalise the last word": wrong_only_at(
            (..., -1, slice(None)), solutions.layer_norm, not_normalised
        ),
        "normalises the first sentence only": wrong_only_at(
            slice(1, None), solutions.layer_norm, not_normalised
        ),
        "doesn't normalise the last feature": wrong_only_at((..., -1), solutions.layer_norm, not_normalised),
    },
    reference=careful_test,
)


# ---- feed-forward


def feed_case(*lead: int, d: int, d_ff: int, seed: int) -> Callable[[], tuple]:
    shapes = ((*lead, d), (d_ff, d), (d_ff,), (d, d_ff), (d,))
    return lambda: tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))


FEED_FORWARD = PlainExercise(
    name="feed_forward",
    lesson="the_block",
    inputs=("x", "w_in", "b_in", "w_out", "b_out"),
    reference=solutions.feed_forward,
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
    slips=known_mistakes(solutions.feed_forward),
)


# ---- the block


FIRST, SECOND = "around_attention", "around_feed_forward"


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
    reference=solutions.encoder_block,
    answered_by=("torch.nn.TransformerEncoderLayer",),
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
    slips=known_mistakes(solutions.encoder_block),
)


# ---- the block as torch modules


FEED_FORWARD_MODULE = ModuleExercise(
    name="FeedForward",
    lesson="the_block",
    inputs=("d_model", "d_ff"),
    reference=solutions.FeedForward,
    sizes=((6, 10), (4, 4)),
    calls=(
        lambda d_model, d_ff: {"x": normal(2, 5, d_model)},
        lambda d_model, d_ff: {"x": 30 * normal(3, d_model, seed=1)},
    ),
    initial_sizes=(64, 256),
    slips=known_mistakes(solutions.FeedForward),
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
        *known_mistakes(modules.EncoderBlock),
    ),
)

EXERCISES = (LAYER_NORM, TEST_NORM, FEED_FORWARD, ENCODER_BLOCK, FEED_FORWARD_MODULE, BLOCK_MODULE)
