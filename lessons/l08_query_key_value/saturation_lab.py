"""The saturation lab: why the scores are divided by √d_k, and not by 1 or by d_k.

    >>> round(compute(d_k=512, divisor="1")["mean_max"], 2)    # one of eight keys takes nearly all
    0.96
    >>> round(compute(d_k=512, divisor="√d_k")["mean_max"], 2)
    0.36

2,048 random queries, each with eight random keys of its own; every entry is a standard normal. A narrower
d_k uses the first d_k entries of the same vectors, so the slider shows the same vectors growing wider.

The gradient is the one with respect to the dot product q·k, before the division: that of the softmax, divided
by the divisor. With ÷ 1 it dies when the softmax is saturated; with ÷ d_k the division alone makes it small.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts
from course_lib.formatting import fixed, significant
from course_lib.views.cells import word_map
from course_lib.views.plane import Plane
from course_lib.views.svg import line, word
from lessons.l00_start_here.softmax_dial import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DIVISORS = ("1", "√d_k", "d_k")
N_QUERIES, N_KEYS = 2048, 8
SEED = 22
N_EXAMPLES, N_TRIES = 8, 3000  # queries that are shown; random choices of which they are the most typical

REACH = 10.0  # the range of the histogram; scores beyond it are counted in its outermost bins
EDGES = np.linspace(-REACH, REACH, 41)
CENTRES = (EDGES[:-1] + EDGES[1:]) / 2
BELL = np.exp(-(CENTRES**2) / 2) / np.sqrt(2 * np.pi) * (EDGES[1] - EDGES[0])

HISTOGRAM = Plane(22, 96, 196, 176, (-REACH, REACH), (0, 0.55))
MAP = 300, 96  # the corner of its first cell
CURVES = Plane(538, 96, 156, 176, (1, 512), (5e-5, 1), log_x=True, log_y=True)


def scale_of(divisor: str, d_k: int) -> float:
    return {"1": 1.0, "√d_k": float(np.sqrt(d_k)), "d_k": float(d_k)}[divisor]


@cache
def raw_scores() -> dict[int, np.ndarray]:
    """Dot products of every query with its keys, for each d_k: (queries, keys)."""
    generator = np.random.default_rng(SEED)
    queries = generator.standard_normal((N_QUERIES, WIDTHS[-1]), dtype=np.float32)
    keys = generator.standard_normal((N_QUERIES, N_KEYS, WIDTHS[-1]), dtype=np.float32)
    scores, total, start = {}, np.zeros((N_QUERIES, N_KEYS)), 0
    for width in WIDTHS:
        total = total + np.einsum("qd,qkd->qk", queries[:, start:width], keys[:, :, start:width])
        scores[width], start = total, width
    return scores


@cache
def statistics_of(d_k: int, divisor: str) -> Facts:
    """Statistics over all queries at one setting."""
    scale = scale_of(divisor, d_k)
    scores = raw_scores()[d_k] / scale
    weights = softmax(scores)
    fractions = np.histogram(scores.clip(-REACH, REACH), bins=EDGES)[0] / scores.size
    return {
        "std": float(scores.std()),
        "fractions": fractions,
        "mean_max": float(weights.max(axis=-1).mean()),
        "gradient": float(np.median(jacobian_norm(weights))) / scale,
    }


@cache
def typical_queries() -> np.ndarray:
    """Eight queries: their largest weights are, on average, near those of all queries at every setting."""
    settings = [(d_k, by) for d_k in WIDTHS for by in DIVISORS]
    largest = np.array([softmax(raw_scores()[d_k] / scale_of(by, d_k)).max(axis=-1) for d_k, by in settings])
    choices = np.random.default_rng(0).integers(0, N_QUERIES, (N_TRIES, N_EXAMPLES))
    off = np.abs(largest[:, choices].mean(axis=-1) - largest.mean(axis=-1, keepdims=True)).max(axis=0)
    return choices[off.argmin()]


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """‖diag(w) − w wᵀ‖, the norm of the softmax's Jacobian, computed from sums of powers without matrices."""
    squares = (weights**2).sum(axis=-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(axis=-1) + squares**2, 0.0))


def compute(*, d_k: int, divisor: str) -> Facts:
    scale = scale_of(divisor, d_k)
    weights = softmax(raw_scores()[d_k][typical_queries()] / scale)
    return {"scale": scale, "weights": weights, **statistics_of(d_k, divisor)}


def plain(gradient: float) -> str:
    """Two significant digits, and no power of ten."""
    return f"{float(significant(gradient, 2)):f}".rstrip("0")


def named(divisor: str) -> str:
    return "÷ " + divisor.replace("d_k", "dₖ")


def draw_scores(facts: Facts) -> Iterable[str]:
    plane = HISTOGRAM
    steps = np.repeat(EDGES, 2)[1:-1], np.repeat(facts["fractions"], 2)
    corners = [
        plane.at(-REACH, 0),
        *(plane.at(*corner) for corner in zip(*steps, strict=True)),
        plane.at(REACH, 0),
    ]
    yield line(corners, "calm", 1, fill="calm")
    yield plane.curve(CENTRES, BELL, "ink", 1.3, dash="4 3")
    yield word(*plane.at(1.7, 0.155), "std 1", 11, "ink", "start")
    yield plane.scale_x({-10: "≤ −10", 0: "0", 10: "≥ 10"}, "score after the division")
    divided = "" if facts["divisor"] == "1" else f", that is ÷ {significant(facts['scale'])}"
    yield word(14, 62, f"scores: q·k {named(facts['divisor'])}{divided}", 12, "soft", "start")
    yield word(14, 82, f"std {fixed(facts['std'], 2)}", 14, anchor="start", bold=True)


def draw_weights(facts: Facts) -> Iterable[str]:
    rows, columns = [f"query {i}" for i in range(1, 9)], [""] * N_KEYS
    yield word(MAP[0] - 52, 62, f"largest weight, mean of {N_QUERIES:,} queries", 12, "soft", "start")
    yield word(MAP[0] - 52, 82, fixed(facts["mean_max"], 2), 14, anchor="start", bold=True)
    yield word_map(*MAP, facts["weights"], rows=rows, columns=columns, size=22, text=11)
    yield word(MAP[0] + 88, MAP[1] + 194, "eight keys; eight typical queries", 11, "soft")


def draw_gradients(facts: Facts) -> Iterable[str]:
    """A curve for each divisor; the current point, and its curve, in the accent colour."""
    plane = CURVES
    yield word(plane.left - 36, 62, "how much the weights change with q·k", 12, "soft", "start")
    yield word(
        plane.left - 36, 82, f"median gradient {plain(facts['gradient'])}", 14, "accent", "start", bold=True
    )
    yield plane.scale_x({1: "1", 8: "8", 64: "64", 512: "512"}, "dₖ")
    yield plane.scale_y({1: "1", 0.1: "0.1", 0.01: "0.01", 1e-3: "0.001", 1e-4: "0.0001"})
    curves = {by: [statistics_of(d_k, by)["gradient"] for d_k in WIDTHS] for by in DIVISORS}
    names = {by: named(by) for by in DIVISORS}
    yield plane.choices("divisor", WIDTHS, curves, names, facts["divisor"], facts["d_k"])


def headline(facts: Facts) -> str:
    largest = facts["mean_max"]
    hardly = ", and q·k hardly changes that" if facts["gradient"] < 0.01 else ""
    said = "the best key leads, and the others still count"
    if largest > 0.9:
        said = f"one key gets nearly all{hardly}"
    elif largest > 0.6:
        said = f"one key usually gets most{hardly}"
    elif largest < 0.2:
        said = f"all keys get about the same{hardly}"
    return f"dₖ = {facts['d_k']}, {named(facts['divisor'])}: {said}"


class SaturationLab(Explorable):
    title = "Saturation lab"
    question = "Why divide the scores by √d_k rather than by 1 or d_k?"
    size = (760, 330)
    d_k = Choice("d_k", WIDTHS, 64)
    divisor = Choice("divide by", DIVISORS, "√d_k", buttons=True)
    presets = {
        "unscaled-512": {"d_k": 512, "divisor": "1"},
        "scaled-512": {"d_k": 512, "divisor": "√d_k"},
        "over-flattened": {"d_k": 512, "divisor": "d_k"},
    }
    goals = {
        "lose-90": "÷ 1: smallest d_k with 10% or less of the gradient at ÷ √d_k, d_k = 64",
        "too-flat": "÷ d_k: the smallest d_k whose mean largest weight is below 0.14",
        "overtakes": "÷ √d_k: the smallest d_k whose gradient is larger than with ÷ 1",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        d_k, divisor, tenth = now["d_k"], now["divisor"], 0.1 * start["gradient"]
        narrower, unscaled = (statistics_of(max(1, d_k // 2), name) for name in (divisor, "1"))
        overtakes = now["gradient"] > statistics_of(d_k, "1")["gradient"]
        return {
            "lose-90": divisor == "1" and now["gradient"] <= tenth < narrower["gradient"],
            "too-flat": divisor == "d_k" and now["mean_max"] < 0.14 <= narrower["mean_max"],
            "overtakes": divisor == "√d_k" and overtakes and narrower["gradient"] <= unscaled["gradient"],
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        yield word(14, 28, headline(facts), 15, anchor="start", bold=True)
        for draw in (draw_scores, draw_weights, draw_gradients):
            yield from draw(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        rows = ", ".join(fixed(row.max(), 2) for row in facts["weights"])
        return (
            f"d_k = {facts['d_k']}, scores divided by {facts['divisor']}: "
            f"the scores have a standard deviation of {fixed(facts['std'], 2)}, and the largest of {N_KEYS} "
            f"attention weights is {fixed(facts['mean_max'], 2)} on average (eight queries: {rows}). "
            f"The median gradient of the weights with respect to q·k is {plain(facts['gradient'])}."
        )
