"""The exercises of lesson 08: a soft lookup, scaled dot-product attention and a test of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.scores import dot
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    Slip,
    TensorExercise,
    TestExercise,
    gaussian,
    wrong_only_at,
)
from course_lib.teaching.softmax_slips import softmax_slips

LN3 = math.log(3)  # a score of 0 and a score of ln 3 give weights of exactly 1/4 and 3/4

ROWS_SUM_TO_ONE = Invariant(
    "the attention weights of each query sum to 1", lambda it: it.weights.sum(-1), equals=1
)
NONE_NEGATIVE = Invariant("no attention weight is negative", lambda it: it.weights.clamp(max=0), equals=0)
NO_TINY = ("large", "equal", "zero")  # tiny: the attention is uniform, up to rounding

BLENDS_KEYS = (
    "the context is a weighted sum of the keys. The keys are needed only for the scores: weight the values."
)


def blend(weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return weights @ values, weights


def look_up(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    context, weights = attend(query[None], keys, values, score=dot)
    return context[0], weights[0]


def scores_as_context(score: Callable[[Tensor, Tensor], Tensor]) -> Slip:
    """The right weights are returned, but the scores are multiplied by the values."""
    return Slip(
        "scores-times-values",
        lambda q, k, v: (score(q, k) @ v, score(q, k).softmax(-1)),
        "the attention weights are right, but the values are multiplied by the scores. Multiply them by the "
        "attention weights.",
    )


SOFT_LOOKUP = TensorExercise(
    name="soft_lookup",
    lesson="query_key_value",
    inputs={"query": gaussian("d"), "keys": gaussian("n d"), "values": gaussian("n v")},
    returns={"context": "v", "weights": "n"},
    sizes={"n": 5, "d": 6, "v": 3},
    reference=look_up,
    variations=NO_TINY,
    by_hand=ByHand(
        inputs={"query": [1.0, 0.0], "keys": [[0.0, 5.0], [LN3, -2.0]], "values": [[4.0], [8.0]]},
        answer={"context": [7.0], "weights": [0.25, 0.75]},
        says="The scores are 0 and ln 3 ≈ 1.099, and their exponentials are 1 and 3. So the attention "
        "weights are 1/4 and 3/4, and the context is 1/4 · 4 + 3/4 · 8 = 7.",
    ),
    invariants=(ROWS_SUM_TO_ONE, NONE_NEGATIVE),
    slips=(
        Slip("blends-keys", lambda q, k, v: blend((k @ q).softmax(0), k), BLENDS_KEYS),
        Slip(
            "scaled-already",
            lambda q, k, v: blend((k @ q / math.sqrt(len(q))).softmax(0), v),
            "the scores are divided by √d_k. That comes in section 3; here they are plain dot products.",
        ),
        Slip(
            "cosine",
            lambda q, k, v: blend(F.cosine_similarity(k, q[None], dim=-1).softmax(0), v),
            "the score is the cosine. Use the dot product, which isn't divided by the norms.",
            misconception="M10",
        ),
        Slip(
            "distance",
            lambda q, k, v: blend((-(k - q).norm(dim=-1)).softmax(0), v),
            "the score is a negative distance. Use the dot product of query and key.",
        ),
        Slip(
            "squared-distance",
            lambda q, k, v: blend((-(k - q).square().sum(-1)).softmax(0), v),
            "the score is a negative squared distance. Use the dot product of query and key.",
        ),
        Slip(
            "mean-for-dot",
            lambda q, k, v: blend((k * q).mean(-1).softmax(0), v),
            "the scores are divided by d_k: is there a mean where there should be a sum? A dot product is a "
            "sum.",
        ),
        Slip(
            "root-of-keys",
            lambda q, k, v: blend((k @ q / math.sqrt(len(k))).softmax(0), v),
            "the scores are divided by the square root of the number of keys. Use the plain dot products.",
        ),
        Slip(
            "unsummed",
            lambda q, k, v: ((k @ q).softmax(0)[:, None] * v, (k @ q).softmax(0)),
            "the values are multiplied by their weights, but not summed. The context is a single vector.",
        ),
        Slip(
            "summed-over-width",
            lambda q, k, v: ((k @ q).softmax(0) * v.sum(-1), (k @ q).softmax(0)),
            "the weighted values are summed over their components. Sum over the keys, with `dim=0`.",
        ),
        scores_as_context(lambda q, k: k @ q),
        Slip(
            "powers-of-2",
            lambda q, k, v: blend((k @ q * math.log(2)).softmax(0), v),
            "the weights are computed from powers of 2. A softmax uses powers of e: `torch.exp`.",
        ),
        Slip(
            "softmax-over-width",
            lambda q, k, v: blend((k * q).softmax(-1).mean(-1), v),
            "the softmax is computed over the components of a key. First sum their products to one score per "
            "key, then compute the softmax over the keys.",
        ),
        *(
            Slip(
                f"softmax-per-component-{name}",
                lambda q, k, v, total=total: blend(total((k * q).softmax(0), -1), v),
                "a softmax is computed for each component of the keys. First sum the products to one score "
                "per key, then compute a single softmax over the keys.",
            )
            for name, total in (("sum", torch.sum), ("mean", torch.mean))
        ),
        *softmax_slips(lambda q, k, v: (k @ q, v), blend, "`values`"),
    ),
)


def attend_with(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return blend(scores.softmax(-1), values)


def scaled(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.mT / math.sqrt(keys.shape[-1])


def divide_by(divisor: Callable[[Tensor, Tensor, Tensor], float]) -> Callable:
    """Attention with another divisor of the scores."""
    return lambda q, k, v: attend_with(q @ k.mT / divisor(q, k, v), v)


def scaled_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return attend(queries, keys, values)


def raise_e(scores: Tensor) -> Tensor:
    return torch.exp(scores - scores.amax(-1, keepdim=True))


DIVISOR_OF_A_WIDTH = "Divide by the square root of the width of a key, `keys.shape[-1]`."

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
    reference=scaled_attention,
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
        Slip(
            "no-scale",
            lambda q, k, v: attend_with(q @ k.mT, v),
            "the scores aren't divided by √d_k, the square root of the width of a key.",
        ),
        Slip(
            "over-d",
            divide_by(lambda q, k, v: k.shape[-1]),
            "the scores are divided by d_k instead of its square root.",
            misconception="M07",
        ),
        Slip(
            "root-of-keys",
            divide_by(lambda q, k, v: math.sqrt(k.shape[-2])),
            f"the scores are divided by the square root of the number of keys. {DIVISOR_OF_A_WIDTH}",
            misconception="M08",
        ),
        Slip(
            "root-of-value-width",
            divide_by(lambda q, k, v: math.sqrt(v.shape[-1])),
            f"the scores are divided by the square root of the width of a value. {DIVISOR_OF_A_WIDTH}",
        ),
        Slip(
            "root-of-queries",
            divide_by(lambda q, k, v: math.sqrt(q.shape[-2])),
            f"the scores are divided by the square root of the number of queries. {DIVISOR_OF_A_WIDTH}",
        ),
        Slip(
            "root-of-shape-1",
            divide_by(lambda q, k, v: math.sqrt(k.shape[1])),
            "the scores are divided by the square root of `shape[1]`. With batch axes in front, that "
            "isn't the width of a key: count from the end, `keys.shape[-1]`.",
        ),
        Slip(
            "root-of-shape-0",
            divide_by(lambda q, k, v: math.sqrt(len(k))),
            "the scores are divided by the square root of `len(keys)`, the size of the first axis. "
            f"{DIVISOR_OF_A_WIDTH}",
        ),
        Slip(
            "whole-root",
            divide_by(lambda q, k, v: math.isqrt(k.shape[-1])),
            "√d_k is rounded down to an integer. Use `math.sqrt(d_k)` or `d_k ** 0.5`.",
        ),
        *(
            Slip(
                f"fixed-{divisor}",
                divide_by(lambda q, k, v, divisor=divisor: divisor),
                f"the scores are always divided by {divisor}. Compute √d_k from the width of the keys, "
                "`keys.shape[-1]`.",
            )
            for divisor in (2, 4, 8)
        ),
        Slip(
            "times-root",
            lambda q, k, v: attend_with(q @ k.mT * math.sqrt(k.shape[-1]), v),
            "the scores are multiplied by √d_k. Divide by it.",
        ),
        Slip(
            "scale-after-softmax",
            lambda q, k, v: blend((q @ k.mT).softmax(-1) / math.sqrt(k.shape[-1]), v),
            "the attention weights are divided by √d_k. Divide the scores, before the softmax.",
        ),
        Slip(
            "context-scaled",
            lambda q, k, v: (attend_with(q @ k.mT, v)[0] / math.sqrt(k.shape[-1]), (q @ k.mT).softmax(-1)),
            "the context is divided by √d_k. Divide the scores, before the softmax.",
        ),
        Slip(
            "softmax-over-queries",
            lambda q, k, v: blend(scaled(q, k).softmax(-2), v),
            "the softmax is computed over the queries. Compute it over the keys, with `dim=-1`.",
            misconception="M11",
        ),
        Slip(
            "softmax-over-batch",
            lambda q, k, v: blend(scaled(q, k).softmax(0), v),
            "the softmax is computed over the first axis, `dim=0`. The keys are on the last axis, `dim=-1`, "
            "however many axes there are in front.",
        ),
        Slip(
            "softmax-over-second-axis",
            lambda q, k, v: blend(scaled(q, k).softmax(1), v),
            "the softmax is computed over the second axis, `dim=1`. The keys are on the last axis, `dim=-1`, "
            "however many axes there are in front.",
        ),
        Slip(
            "softmax-over-everything",
            lambda q, k, v: blend(scaled(q, k).flatten().softmax(0).view(*q.shape[:-1], -1), v),
            "one softmax is computed over all scores. Each query needs its own: use `dim=-1`.",
        ),
        Slip(
            "cosine",
            lambda q, k, v: attend_with(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT, v),
            "the score is the cosine. Use the dot product, and divide it by √d_k, not by the norms.",
        ),
        Slip("blends-keys", lambda q, k, v: attend_with(scaled(q, k), k), BLENDS_KEYS),
        Slip(
            "weights-transposed",
            lambda q, k, v: (attend_with(scaled(q, k), v)[0], scaled(q, k).softmax(-1).mT),
            "the context is right, but the attention weights are transposed. There should be a row for each "
            "query and a column for each key.",
        ),
        Slip(
            "unscaled-weights",
            lambda q, k, v: (attend_with(scaled(q, k), v)[0], (q @ k.mT).softmax(-1)),
            "the context is right, but the attention weights come from scores that aren't divided by √d_k.",
        ),
        Slip(
            "unscaled-context",
            lambda q, k, v: (attend_with(q @ k.mT, v)[0], scaled(q, k).softmax(-1)),
            "the attention weights are right, but the context comes from scores that aren't divided by √d_k.",
        ),
        Slip(
            "last-row",
            lambda q, k, v: tuple(output * not_last(output) for output in attend_with(scaled(q, k), v)),
            "the last query gets only zeros. Does a loop end one query too early?",
        ),
        scores_as_context(scaled),
        Slip(
            "no-keepdim",
            lambda q, k, v: blend(raise_e(scaled(q, k)) / raise_e(scaled(q, k)).sum(-1), v),
            "the sums lose an axis, so they don't divide the rows they belong to. Use "
            "`sum(dim=-1, keepdim=True)`.",
        ),
        *softmax_slips(lambda q, k, v: (scaled(q, k), v), blend, "`values`"),
    ),
)


def not_last(output: Tensor) -> Tensor:
    """1 for every row but the last; a single row is kept."""
    n = output.shape[-2]
    return (torch.arange(n) < max(n - 1, 1)).to(output.dtype)[:, None]


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


def careful_test(implementation: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 3, 16), (2, 5, 16), (2, 5, 7))
    inputs = [torch.randn(shape, generator=generator) for shape in shapes]
    for output, expected in zip(implementation(*inputs), right_attention(*inputs), strict=True):
        torch.testing.assert_close(output, expected)


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
            right_attention, divide_by(lambda q, k, v: 1.0)
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
    reference=careful_test,
)


EXERCISES = (SOFT_LOOKUP, SCALED_ATTENTION, TEST_ATTENTION)
