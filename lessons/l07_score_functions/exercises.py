"""The exercises of lesson 07: the general score, and articles counted with forced attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.scores import cosine, general
from course_lib.teaching.exercises import ByHand, Slip, TensorExercise, gaussian
from lessons.l07_score_functions.count_articles import COUNT_ARTICLES

LESSON = "score_functions"
SOFTMAX_ALREADY = "these are attention weights. Return the scores, without a softmax."


def general_scores(queries: Tensor, keys: Tensor, w: Tensor) -> Tensor:
    return general(queries, keys, weight=w)


GENERAL_SCORES = TensorExercise(
    name="general_scores",
    lesson=LESSON,
    inputs={"queries": gaussian("m q"), "keys": gaussian("n k"), "w": gaussian("q k")},
    returns={"scores": "m n"},
    sizes={"m": 2, "n": 5, "q": 3, "k": 4},
    reference=general_scores,
    by_hand=ByHand(
        inputs={
            "queries": [[1.0, 2.0], [0.0, 1.0]],
            "keys": [[3.0, 1.0], [0.0, 1.0]],
            "w": [[0.0, 1.0], [1.0, 0.0]],
        },
        answer={"scores": [[7.0, 1.0], [3.0, 0.0]]},
        says="This w swaps the two components of a key: (3, 1) becomes (1, 3), and (0, 1) becomes (1, 0). "
        "The dot products of the first query with these are 1 · 1 + 2 · 3 = 7 and 1 · 1 + 2 · 0 = 1. Those "
        "of the second query, (0, 1), are 3 and 0.",
    ),
    slips=(
        Slip("softmax-already", lambda q, k, w: general_scores(q, k, w).softmax(-1), SOFTMAX_ALREADY),
        Slip("softmax-over-queries", lambda q, k, w: general_scores(q, k, w).softmax(0), SOFTMAX_ALREADY),
        Slip(
            "no-w",
            lambda q, k, w: q @ k.T,
            "`w` isn't used: this is the dot product of query and key. Multiply the keys or the queries by "
            "`w` first.",
        ),
        Slip(
            "transposed-scores",
            lambda q, k, w: general_scores(q, k, w).T,
            "the scores are transposed. There should be a row for each query and a column for each key.",
        ),
        Slip(
            "scaled-already",
            lambda q, k, w: general_scores(q, k, w) / math.sqrt(k.shape[-1]),
            "the scores are divided by the square root of the width of a key. The general score isn't "
            "scaled; scaling comes in lesson 08.",
        ),
        Slip(
            "scaled-by-query-width",
            lambda q, k, w: general_scores(q, k, w) / math.sqrt(q.shape[-1]),
            "the scores are divided by the square root of the width of a query. The general score "
            "isn't scaled; scaling comes in lesson 08.",
        ),
        Slip(
            "mean-for-sum",
            lambda q, k, w: general_scores(q, k, w) / k.shape[-1],
            "the scores are divided by the width of a key: is there a mean where there should be a sum? A "
            "dot product is a sum.",
        ),
        Slip(
            "mean-over-both",
            lambda q, k, w: general_scores(q, k, w) / w.numel(),
            "the scores are divided by the number of entries of `w`: is there a mean where there should be a "
            "sum?",
        ),
        *(
            Slip(
                f"{f.__name__}-of-queries",
                lambda q, k, w, f=f: f(q @ w) @ k.T,
                f"`{f.__name__}` is applied to the projected queries. The general score has no nonlinearity.",
            )
            for f in (torch.tanh, torch.relu)
        ),
        *(
            Slip(
                f"{f.__name__}-of-scores",
                lambda q, k, w, f=f: f(general_scores(q, k, w)),
                f"`{f.__name__}` is applied to the scores. Return them as they are: a score can be any "
                f"number.",
            )
            for f in (torch.tanh, torch.relu, torch.sigmoid, torch.exp, torch.abs)
        ),
        Slip(
            "added",
            lambda q, k, w: ((q @ w)[:, None] + k).sum(-1),
            "the projected query and the key are added. Take their dot product.",
        ),
        Slip(
            "cosine",
            lambda q, k, w: cosine(q @ w, k),
            "this is the cosine of the projected query and the key. The general score doesn't divide by "
            "their norms.",
        ),
        Slip(
            "unit-keys",
            lambda q, k, w: general_scores(q, F.normalize(k, dim=-1), w),
            "the keys are divided by their norms. The general score uses them unchanged.",
        ),
        Slip(
            "mean-over-keys",
            lambda q, k, w: general_scores(q, k, w) / len(k),
            "the scores are divided by the number of keys. Return the dot products themselves.",
        ),
        Slip(
            "keys-reshaped",
            lambda q, k, w: general_scores(q, k.reshape(k.shape[1], k.shape[0]).T, w),
            "`keys` isn't transposed. Use `.T`; a reshape would mix the numbers of different keys.",
        ),
        Slip(
            "first-query-for-all",
            lambda q, k, w: general_scores(q[:1], k, w).expand(len(q), -1),
            "every row contains the scores of the first query. Each query needs its own row.",
        ),
        Slip(
            "first-key-for-all",
            lambda q, k, w: general_scores(q, k[:1], w).expand(-1, len(k)),
            "every column contains the scores of the first key. Each key needs its own column.",
        ),
        Slip(
            "diagonal-only",
            lambda q, k, w: general_scores(q, k, w) * torch.eye(len(q), len(k)),
            "each query is scored with one key only, the one with the same index. Score every pair.",
        ),
        Slip(
            "same-index",
            lambda q, k, w: ((q @ w) * k).sum(-1),
            "query i is scored with key i only. Score every query with every key: (m, n).",
        ),
        Slip(
            "diagonal",
            lambda q, k, w: torch.stack([a @ w @ b for a, b in zip(q, k, strict=False)]),
            "query i is scored with key i only. Score every query with every key: (m, n).",
        ),
        Slip(
            "first-query-only",
            lambda q, k, w: general_scores(q[:1], k, w)[0],
            "only the first query is scored. Score every query: one row for each.",
        ),
        Slip(
            "flat",
            lambda q, k, w: general_scores(q, k, w).flatten(),
            "the scores of all pairs are in one long row. Return one row for each query: (m, n).",
        ),
        Slip(
            "not-summed",
            lambda q, k, w: (q @ w)[:, None] * k,
            "the products aren't added up. A dot product is the sum of the products: one number for each "
            "pair.",
        ),
        Slip(
            "last-key",
            lambda q, k, w: F.pad(general_scores(q, k[:-1], w), (0, 1)),
            "the last column is 0. Does a loop end one key too early?",
        ),
        Slip(
            "last-query",
            lambda q, k, w: F.pad(general_scores(q[:-1], k, w), (0, 0, 0, 1)),
            "the last row is 0. Does a loop end one query too early?",
        ),
        Slip(
            "added-tanh",
            lambda q, k, w: torch.tanh((q @ w)[:, None] + k).sum(-1),
            "the projected query and the key are added, as in the additive score. Take their dot product, "
            "without tanh.",
        ),
    ),
)


EXERCISES = (GENERAL_SCORES, COUNT_ARTICLES)
