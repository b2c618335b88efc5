"""The exercises of lesson 08: a soft lookup, scaled dot-product attention and a test of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    TensorExercise,
    TestExercise,
    gaussian,
    known_mistakes,
    wrong_only_at,
)
from course_lib.teaching.softmax_slips import softmax_slips
from lessons.l08_query_key_value import solutions

LN2, LN3 = math.log(2), math.log(3)  # scores whose exponentials are 2 and 3

ROWS_SUM_TO_ONE = Invariant(
    "the attention weights of each query sum to 1", lambda it: it.weights.sum(-1), equals=1
)
NONE_NEGATIVE = Invariant("no attention weight is negative", lambda it: it.weights.clamp(max=0), equals=0)
NO_TINY = ("large", "equal", "zero")  # tiny: the attention is uniform, up to rounding


def blend(weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return weights @ values, weights


SOFT_LOOKUP = TensorExercise(
    name="soft_lookup",
    lesson="query_key_value",
    inputs={"query": gaussian("d"), "keys": gaussian("n d"), "values": gaussian("n v")},
    returns={"context": "v", "weights": "n"},
    sizes={"n": 5, "d": 6, "v": 3},
    reference=solutions.soft_lookup,
    answered_by=("torch.nn.functional.scaled_dot_product_attention",),
    variations=NO_TINY,
    by_hand=ByHand(
        inputs={"query": [1.0, 0.0], "keys": [[0.0, 5.0], [LN2, -2.0]], "values": [[4.0], [10.0]]},
        answer={"context": [8.0], "weights": [1 / 3, 2 / 3]},
        says="The scores are 0 and ln 2 ≈ 0.693, and their exponentials are 1 and 2. So the attention "
        "weights are 1/3 and 2/3, and the context is 1/3 · 4 + 2/3 · 10 = 8.",
    ),
    invariants=(ROWS_SUM_TO_ONE, NONE_NEGATIVE),
    slips=(
        *known_mistakes(solutions.soft_lookup),
        *softmax_slips(lambda q, k, v: (k @ q, v), blend, "`values`"),
    ),
)


def attend_with(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return blend(scores.softmax(-1), values)


def scaled(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.mT / math.sqrt(keys.shape[-1])


SCALED_ATTENTION = TensorExercise(
    name="scaled_attention",
    lesson="query_key_value",
    inputs={
        "queries": gaussian("*batch m d"),
        "keys": gaussian("*batch n d"),
        "values": gaussian("*batch n v"),
    },
    returns={"context": "*batch m v", "weights": "*batch m n"},
    sizes={"batch": (2, 3), "m": 4, "n": 5, "d": 16, "v": 7},
    reference=solutions.scaled_attention,
    answered_by=("torch.nn.functional.scaled_dot_product_attention",),
    variations=NO_TINY,
    by_hand=ByHand(
        inputs={
            "queries": [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]],
            "keys": [[0.0, 0.0, 0.0, 0.0], [LN3, 0.0, 0.0, 0.0]],
            "values": [[4.0], [8.0]],
        },
        answer={"context": [[7.0], [6.0]], "weights": [[0.25, 0.75], [0.5, 0.5]]},
        says="A key has 4 components, so the scores are divided by √4 = 2. The first query has the scores 0 "
        "and ln 3 ≈ 1.099, so its weights are 1/4 and 3/4, and its context is 7. The second has the scores 0 "
        "and 0, so its weights are 1/2 and 1/2, and its context is 6.",
    ),
    invariants=(ROWS_SUM_TO_ONE, NONE_NEGATIVE),
    slips=(
        *known_mistakes(solutions.scaled_attention),
        *softmax_slips(lambda q, k, v: (scaled(q, k), v), blend, "`values`"),
    ),
)


def right_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return attend_with(scaled(queries, keys), values)


def by_einsum(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.einsum("...md,...nd->...mn", queries, keys).div(keys.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("...mn,...nv->...mv", weights, values), weights


def by_torch(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    eye = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-1], keys.shape[-2])
    return (
        F.scaled_dot_product_attention(queries, keys, values),
        F.scaled_dot_product_attention(queries, keys, eye),
    )


def scaled_first(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    root = keys.shape[-1] ** 0.25
    return attend_with((queries / root) @ (keys / root).mT, values)


def in_double(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    outputs = right_attention(queries.double(), keys.double(), values.double())
    return tuple(output.to(queries.dtype) for output in outputs)


def single_matrices_only(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    if queries.ndim > 2:
        raise RuntimeError("`.T` is for single matrices")
    return right_attention(queries, keys, values)


def zeros(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return tuple(torch.zeros_like(output) for output in right_attention(queries, keys, values))


def in_a_batch(wrong: Callable) -> Callable:
    """Right for single matrices; for a batch, `wrong` of the right outputs."""

    def function(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        outputs = right_attention(queries, keys, values)
        return tuple(map(wrong, outputs)) if queries.ndim > 2 else outputs

    return function


def without_first(output: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(output[:1]), output[1:]])


def shifted_by(number: float) -> Callable:
    return lambda q, k, v: tuple(output + number for output in right_attention(q, k, v))


def combine(context_of: Callable, weights_of: Callable) -> Callable:
    """Attention with the context of one function and the weights of another."""
    return lambda q, k, v: (context_of(q, k, v)[0], weights_of(q, k, v)[1])


TEST_ATTENTION = TestExercise(
    name="test_attention",
    lesson="query_key_value",
    inputs={"attention": "a function"},
    of=SCALED_ATTENTION,
    what="attention function",
    accepts={
        "with matrices": right_attention,
        "with einsum": by_einsum,
        "with torch's own function": by_torch,
        "so that it scales before the product": scaled_first,
        "in double precision, so that it is rounded differently": in_double,
    },
    rejects={
        "no-scale": "doesn't divide by √d_k",
        "over-d": "divides by d_k instead of √d_k",
        "root-of-keys": "divides by the square root of the number of keys",
        "root-of-value-width": "divides by the square root of the width of a value",
        "scale-after-softmax": "divides after the softmax",
        "softmax-over-queries": "computes the softmax over the queries instead of the keys",
        "softmax-over-batch": "computes the softmax over the sentences of a batch",
        "raw-scores": "leaves out the softmax",
        "blends-keys": "computes the context from the keys instead of the values",
        "uniform-context": "returns the mean of the values as context",
        "weights-are-scores": "returns the scores instead of the attention weights",
        "last-row": "forgets the last query",
    },
    wrong={
        "fails for a batch of matrices": single_matrices_only,
        "returns zeros for the first query": wrong_only_at((..., 0, slice(None)), right_attention, zeros),
        "returns zeros for the first sentence of a batch": in_a_batch(without_first),
        "returns the results of the first sentence for every sentence of a batch": in_a_batch(
            lambda output: output[:1].expand(output.shape)
        ),
        "returns 0 as the last component of each context": combine(
            wrong_only_at((..., -1), right_attention, zeros), right_attention
        ),
        "returns unscaled attention weights with the right context": combine(
            right_attention, lambda q, k, v: attend_with(q @ k.mT, v)
        ),
        "returns the attention weights of each query sorted by size": combine(
            right_attention, lambda q, k, v: (None, right_attention(q, k, v)[1].sort(-1).values)
        ),
        "returns the results of the queries in reverse order": lambda q, k, v: right_attention(
            q.flip(-2), k, v
        ),
        "returns numbers that are all too small": shifted_by(-1.0),
        "returns numbers that are all too large": shifted_by(1.0),
    },
    reference=solutions.test_attention,
)


EXERCISES = (SOFT_LOOKUP, SCALED_ATTENTION, TEST_ATTENTION)
