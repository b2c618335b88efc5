"""The exercises of lesson 07: the general, the concat and the cosine score, and local-p's weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.local import gaussian_window, predicted_centres
from course_lib.layers.scores import concat, cosine, general
from course_lib.teaching.exercises import ByHand, Invariant, RandomInput, Slip, TensorExercise, gaussian

LESSON = "score_functions"
TANH_1 = 0.761594  # tanh(1)
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
        says="This w swaps the two components of a query: (1, 2) becomes (2, 1). Its dot products with the "
        "keys are 2 · 3 + 1 · 1 = 7 and 2 · 0 + 1 · 1 = 1. The second query, (0, 1), becomes (1, 0), and its "
        "dot products are 3 and 0.",
    ),
    slips=(
        Slip("softmax-already", lambda q, k, w: general_scores(q, k, w).softmax(-1), SOFTMAX_ALREADY),
        Slip("softmax-over-queries", lambda q, k, w: general_scores(q, k, w).softmax(0), SOFTMAX_ALREADY),
        Slip(
            "no-w",
            lambda q, k, w: q @ k.T,
            "`w` isn't used: this is the dot-product score. Multiply the queries by `w` first.",
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
            "keys-reshaped",
            lambda q, k, w: general_scores(q, k.reshape(k.shape[1], k.shape[0]).T, w),
            "`keys` is reshaped, which mixes the numbers of different keys. To transpose a matrix, use `.T`.",
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


def concat_scores(queries: Tensor, keys: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return concat(queries, keys, weight=w, v=v)


def project_pairs(queries: Tensor, keys: Tensor, w: Tensor) -> Tensor:
    """W [q; k] of every pair, before the tanh: (m, n, d)."""
    q = queries.shape[-1]
    return (queries @ w[:, :q].T)[:, None] + keys @ w[:, q:].T


CONCAT_SCORES = TensorExercise(
    name="concat_scores",
    lesson=LESSON,
    inputs={
        "queries": gaussian("m q"),
        "keys": gaussian("n k"),
        "w": gaussian("d p"),
        "v": gaussian("d"),
    },
    returns={"scores": "m n"},
    sizes={"m": 2, "n": 5, "q": 3, "k": 4, "p": 7, "d": 6},
    other_sizes=(
        {"m": 7, "n": 3, "q": 5, "k": 4, "p": 9, "d": 2},
        {"m": 4, "n": 4, "q": 4, "k": 4, "p": 8, "d": 4},
        {"m": 1, "n": 1, "q": 1, "k": 1, "p": 2, "d": 1},
    ),
    reference=concat_scores,
    large=(4.0,),  # tanh is flat beyond: larger inputs would test the same
    by_hand=ByHand(
        inputs={
            "queries": [[1.0], [0.0]],
            "keys": [[0.0], [1.0]],
            "w": [[1.0, -1.0]],
            "v": [2.0],
        },
        answer={"scores": [[2 * TANH_1, 0.0], [0.0, -2 * TANH_1]]},
        says="W = (1, −1) takes the key from the query. First query, first key: 2 · tanh(1 − 0) = 1.523. "
        "Second key: 2 · tanh(1 − 1) = 0. Second query: 2 · tanh(0) = 0 and 2 · tanh(−1) = −1.523.",
    ),
    slips=(
        Slip(
            "keys-first",
            lambda q, k, w, v: (
                torch.tanh((k @ w[:, : k.shape[-1]].T) + (q @ w[:, k.shape[-1] :].T)[:, None]) @ v
            ),
            "the key stands in front. W is made for [query; key]: the query's numbers come first.",
        ),
        Slip(
            "no-tanh",
            lambda q, k, w, v: project_pairs(q, k, w) @ v,
            "there is no tanh. Without a bend a query adds one number to all its scores, and the softmax "
            "takes that away again: every query would look alike.",
        ),
        Slip(
            "tanh-after-v",
            lambda q, k, w, v: torch.tanh(project_pairs(q, k, w) @ v),
            "the tanh comes after `v`. First bend, then let `v` judge.",
        ),
        Slip(
            "no-v",
            lambda q, k, w, v: torch.tanh(project_pairs(q, k, w)).sum(-1),
            "the hidden numbers are added up without `v`. `v` says how much each of them counts.",
        ),
        Slip(
            "bent-apart",
            lambda q, k, w, v: (
                (torch.tanh(q @ w[:, : q.shape[-1]].T)[:, None] + torch.tanh(k @ w[:, q.shape[-1] :].T)) @ v
            ),
            "query and key are bent one by one. Join them first, one tanh after: only there do they meet.",
        ),
        Slip("softmax-already", lambda q, k, w, v: concat_scores(q, k, w, v).softmax(-1), SOFTMAX_ALREADY),
        Slip(
            "first-query-for-all",
            lambda q, k, w, v: concat_scores(q[:1], k, w, v).expand(len(q), -1),
            "every row holds the scores of the first query. Each query has a row of its own.",
        ),
    ),
)


def first_version(query: Tensor, keys: Tensor) -> Tensor:
    return keys @ query / (query.norm() * keys.norm())


COSINE_SCORES = TensorExercise(
    name="cosine_scores",
    variations=("large", "tiny", "equal"),  # a zero vector has no direction
    lesson=LESSON,
    inputs={"query": gaussian("d"), "keys": gaussian("n d")},
    returns={"scores": "n"},
    sizes={"n": 5, "d": 4},
    reference=lambda query, keys: cosine(query[None], keys)[0],
    by_hand=ByHand(
        inputs={"query": [3.0, 4.0], "keys": [[6.0, 8.0], [0.0, 2.0]]},
        answer={"scores": [1.0, 0.8]},
        says="The query is 5 long. The first key is 10 long: (3 · 6 + 4 · 8) / (5 · 10) = 1, the same "
        "direction. The second is 2 long: (4 · 2) / (5 · 2) = 0.8.",
    ),
    invariants=(Invariant("no cosine is above 1", lambda it: it.scores.max().clamp(min=1), equals=1),),
    unrepaired=first_version,
    slips=(
        Slip(
            "keys-only",
            lambda q, k: k @ q / k.norm(dim=-1),
            "only the keys' lengths are divided out. A longer query would still make larger scores.",
        ),
        Slip(
            "query-only",
            lambda q, k: k @ q / q.norm(),
            "only the query's length is divided out. A longer key still scores more.",
            misconception="M10",
        ),
        Slip(
            "squared",
            lambda q, k: k @ q / (q.square().sum() * k.square().sum(-1)),
            "it divides by the squared lengths. The length is the root of the sum of squares: `.norm()`.",
        ),
        Slip(
            "plain-dot",
            lambda q, k: k @ q,
            "nothing is divided: this is the dot product. A longer key still scores more.",
            misconception="M10",
        ),
        Slip(
            "over-columns",
            lambda q, k: (k / k.norm(dim=0)) @ q / q.norm(),
            "the lengths are taken down the columns. A key is a row: `dim=-1`.",
        ),
    ),
)


def predict_centre(query: Tensor, n: int, w_p: Tensor, v_p: Tensor) -> Tensor:
    return predicted_centres(query[None, None], torch.tensor([n]), w_p=w_p, v_p=v_p)[0, 0]


def softmax_inside(scores: Tensor, inside: Tensor) -> Tensor:
    return scores.masked_fill(~inside, -torch.inf).softmax(-1)


def local_p_weights(
    query: Tensor, states: Tensor, w: Tensor, w_p: Tensor, v_p: Tensor, half_width: Tensor
) -> tuple[Tensor, Tensor]:
    n = len(states)
    centre = predict_centre(query, n, w_p, v_p)
    positions = torch.arange(n)
    weights = softmax_in_window(general_scores(query[None], states, w)[0], positions, centre, half_width)
    return weights * gaussian_window(centre[None], positions, sigma=float(half_width) / 2)[0], centre


def with_weights(weigh: Callable[..., Tensor]) -> Callable:
    """A wrong local-p: `weigh` computes the weights from scores, positions, centre and half width."""

    def wrong(query, states, w, w_p, v_p, half_width):
        centre = predict_centre(query, len(states), w_p, v_p)
        scores = general_scores(query[None], states, w)[0]
        return weigh(scores, torch.arange(len(states)), centre, half_width), centre

    return wrong


def softmax_in_window(scores: Tensor, positions: Tensor, centre: Tensor, half_width: Tensor) -> Tensor:
    return softmax_inside(scores, (positions - centre).abs() <= half_width)


def bell(positions: Tensor, centre: Tensor, sigma: Tensor) -> Tensor:
    return torch.exp(-((positions - centre) ** 2) / (2 * sigma**2))


def normalise(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def with_centre(move: Callable[[Tensor, int], Tensor]) -> Callable:
    """A wrong local-p: `move` computes the centre from v_p · tanh(W_p q) and the length."""

    def wrong(query, states, w, w_p, v_p, half_width):
        n = len(states)
        centre = move(torch.tanh(w_p @ query) @ v_p, n)
        scores, positions = general_scores(query[None], states, w)[0], torch.arange(n)
        weights = softmax_in_window(scores, positions, centre, half_width)
        weights = weights * bell(positions, centre, half_width / 2)
        return weights.nan_to_num(0), centre

    return wrong


LOCAL_P_WEIGHTS = TensorExercise(
    name="local_p_weights",
    lesson=LESSON,
    inputs={
        "query": gaussian("q"),
        "states": gaussian("n k"),
        "w": gaussian("q k"),
        "w_p": gaussian("d q"),
        "v_p": gaussian("d"),
        # Whole numbers: they have no gradient.
        "half_width": RandomInput("", lambda size, g: torch.randint(1, 4, size, generator=g)),
    },
    returns={"weights": "n", "centre": ""},
    sizes={"n": 9, "q": 3, "k": 4, "d": 6},
    other_sizes=(
        {"n": 7, "q": 4, "k": 3, "d": 5},
        {"n": 4, "q": 4, "k": 4, "d": 4},
        {"n": 1, "q": 1, "k": 1, "d": 1},
    ),
    large=(4.0,),
    reference=local_p_weights,
    by_hand=ByHand(
        inputs={
            "query": [1.0],
            "states": [[5.0], [0.0], [0.0], [0.0]],
            "w": [[1.0]],
            "w_p": [[1.0]],
            "v_p": [0.0],
            "half_width": 1,
        },
        answer={"weights": [0.0, math.exp(-2) / 3, 1 / 3, math.exp(-2) / 3], "centre": 2.0},
        says="v_p is 0, so the centre is 4 · sigmoid(0) = 2. With D = 1 the places 1, 2, 3 are inside; their "
        "scores are all 0, so each gets 1/3. (Place 0 has the score 5, and is out of sight.) σ is 1/2: the "
        "bell is 1 at place 2 and e^(−1 / (2 · 1/4)) = e^(−2) = 0.135 at 1 and 3. Weights 0, 0.045, 0.333, "
        "0.045.",
    ),
    invariants=(
        Invariant("no weight is below 0", lambda it: it.weights.clamp(max=0), equals=0),
        Invariant(
            "the weights sum to 1 at most", lambda it: (it.weights.sum() - 1.0001).clamp(min=0), equals=0
        ),
        Invariant(
            "nothing outside the window has a weight",
            lambda it: it.weights[(torch.arange(len(it.states)) - it.centre).abs() > it.half_width + 1e-4],
            equals=0,
        ),
    ),
    slips=(
        Slip(
            "sums-to-one-again",
            with_weights(lambda s, p, c, D: normalise(softmax_in_window(s, p, c, D) * bell(p, c, D / 2))),
            "the weights are made to sum to 1 again after the bell. Luong leaves them: the bell takes weight "
            "away, and the row then sums to less than 1.",
        ),
        Slip(
            "sigma-is-D",
            with_weights(lambda s, p, c, D: softmax_in_window(s, p, c, D) * bell(p, c, D)),
            "the bell is twice as wide as it should be: σ is half of D.",
        ),
        Slip(
            "no-window",
            with_weights(lambda s, p, c, D: s.softmax(-1) * bell(p, c, D / 2)),
            "the softmax runs over all words. Only those at most D from the centre take part in it.",
        ),
        Slip(
            "cut-after-softmax",
            with_weights(
                lambda s, p, c, D: s.softmax(-1) * ((p - c).abs() <= D) * bell(p, c, D / 2),
            ),
            "the softmax runs over all words and is cut afterwards. Then words out of sight still take their "
            "share: choose the words first, then the softmax.",
        ),
        Slip(
            "no-bell",
            with_weights(lambda s, p, c, D: softmax_in_window(s, p, c, D)),
            "the window is right, but the bell is missing: multiply each weight by it.",
        ),
        Slip(
            "bell-on-scores",
            with_weights(lambda s, p, c, D: softmax_inside(s * bell(p, c, D / 2), (p - c).abs() <= D)),
            "the bell multiplies the scores, before the softmax. It multiplies the weights, after it.",
        ),
        Slip(
            "no-two",
            with_weights(
                lambda s, p, c, D: softmax_in_window(s, p, c, D) * torch.exp(-((p - c) ** 2) / (D / 2) ** 2)
            ),
            "the bell is too narrow: the exponent is the squared distance over *two* times σ².",
        ),
        Slip(
            "not-squared",
            with_weights(
                lambda s, p, c, D: (
                    softmax_in_window(s, p, c, D) * torch.exp(-(p - c).abs() / (2 * (D / 2) ** 2))
                )
            ),
            "the distance is not squared in the bell's exponent.",
        ),
        Slip(
            "whole-centre",
            with_centre(lambda x, n: (n * torch.sigmoid(x)).round()),
            "the centre is rounded to a whole place. It may lie between two words, and has a slope there.",
        ),
        Slip(
            "last-place",
            with_centre(lambda x, n: (n - 1) * torch.sigmoid(x)),
            "the centre is a share of n − 1. Luong takes the whole length: n times the sigmoid.",
        ),
        Slip(
            "cut-centre",
            with_centre(lambda x, n: (n * torch.sigmoid(x)).floor()),
            "the centre is cut to a whole place. It may lie between two words, and has a slope there.",
        ),
        Slip(
            "from-one",
            with_weights(
                lambda s, p, c, D: (softmax_in_window(s, p + 1, c, D) * bell(p + 1, c, D / 2)).nan_to_num(0)
            ),
            "the places are counted from 1. Here the first word stands at place 0.",
        ),
        Slip(
            "edge-outside",
            with_weights(lambda s, p, c, D: softmax_inside(s, (p - c).abs() < D) * bell(p, c, D / 2)),
            "a word exactly D away is left out. It counts as inside: `<=`.",
        ),
        Slip(
            "zero-for-hidden",
            with_weights(lambda s, p, c, D: (s * ((p - c).abs() <= D)).softmax(-1) * bell(p, c, D / 2)),
            "words out of sight get the score 0 before the softmax. A score of 0 still has a share, e⁰ = 1: "
            "leave them out.",
        ),
        Slip(
            "no-softmax",
            with_weights(lambda s, p, c, D: s * ((p - c).abs() <= D) * bell(p, c, D / 2)),
            "the scores inside the window are used as they are. A softmax makes weights of them first.",
        ),
        Slip(
            "all-alike-inside",
            with_weights(lambda s, p, c, D: softmax_in_window(0 * s, p, c, D) * bell(p, c, D / 2)),
            "every word inside the window has the same share. The scores should say what fits.",
        ),
        Slip(
            "share-for-centre",
            lambda *given: (local_p_weights(*given)[0], local_p_weights(*given)[1] / len(given[1])),
            "the weights are right. The centre given back is a share of the way: it should be a place.",
        ),
    ),
)


EXERCISES = (GENERAL_SCORES, CONCAT_SCORES, COSINE_SCORES, LOCAL_P_WEIGHTS)
