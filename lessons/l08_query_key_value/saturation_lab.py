"""The saturation lab: why the scores are divided by √d_k, and not by 1 or by d_k.

    >>> round(statistics_of(512, "1")["mean_max"], 2)    # one of eight keys takes nearly all
    0.96
    >>> round(statistics_of(512, "√d_k")["mean_max"], 2)
    0.36

The statistics are over 2,048 random queries, each with eight random keys of its own; every entry is a
standard normal. The map is a flat slice through the space of queries, u·a + v·b, with two random directions a
and b, and eight other random keys. On the circle u² + v² = 1 a query's entries have variance 1. A narrower
d_k uses the first d_k entries of the same vectors. Its seed was chosen so that five keys win at 512.

The gradient is the one with respect to the dot product q·k, before the division: that of the softmax, divided
by the divisor. With ÷ 1 it dies when the softmax is saturated; with ÷ d_k the division alone makes it small.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Point
from course_lib.formatting import fixed, significant
from course_lib.views.cells import heat
from course_lib.views.plane import Plane
from course_lib.views.shapes import side_bars
from course_lib.views.svg import box, dot, line, word
from lessons.l00_start_here.softmax_dial import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DIVISORS = ("1", "√d_k", "d_k")
N_QUERIES, N_KEYS = 2048, 8
SEED, SLICE_SEED = 22, 1222
KEY_NAMES = [f"key {i + 1}" for i in range(N_KEYS)]

REACH, N_CELLS = 1.5, 45  # the slice goes from −REACH to REACH in both directions
SLICE = Plane(14, 94, 225, 225, (-REACH, REACH), (-REACH, REACH))
BARS = 330
CURVES = Plane(556, 94, 132, 196, (1, 512), (5e-5, 1), log_x=True, log_y=True)
Pair = tuple[float, float]


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
    return {
        "std": float(scores.std()),
        "mean_max": float(weights.max(axis=-1).mean()),
        "gradient": float(np.median(jacobian_norm(weights))) / scale,
    }


@cache
def slice_products() -> dict[int, np.ndarray]:
    """For each d_k, the dot products of a and b with the eight keys: (2, keys)."""
    generator = np.random.default_rng(SLICE_SEED)
    directions, keys = generator.standard_normal((2, 512)), generator.standard_normal((N_KEYS, 512))
    return {d_k: directions[:, :d_k] @ keys[:, :d_k].T for d_k in WIDTHS}


@cache
def largest_weights(d_k: int, divisor: str) -> np.ndarray:
    """The largest attention weight at each cell of the slice, its first row at the top."""
    middles = REACH * (2 * np.arange(N_CELLS) + 1 - N_CELLS) / N_CELLS
    places = np.stack(np.meshgrid(middles, -middles), axis=-1)
    return softmax(places @ slice_products()[d_k] / scale_of(divisor, d_k)).max(axis=-1)


@cache
def sectors(d_k: int) -> list[tuple[int, float, float]]:
    """The key with the highest score in each sector of the slice, and the angles where it begins and ends.

    Scores are linear in u and v, so which one is the highest depends on the direction alone.
    """
    angles = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
    best = (np.stack([np.cos(angles), np.sin(angles)], axis=1) @ slice_products()[d_k]).argmax(axis=1)
    starts = [int(i) for i in np.flatnonzero(best != np.roll(best, 1))]
    ends = [*starts[1:], starts[0] + len(angles)]
    step = 2 * np.pi / len(angles)
    return [(int(best[i]), i * step, j * step) for i, j in zip(starts, ends, strict=True)]


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """‖diag(w) − w wᵀ‖, the norm of the softmax's Jacobian, computed from sums of powers without matrices."""
    squares = (weights**2).sum(axis=-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(axis=-1) + squares**2, 0.0))


def compute(*, d_k: int, divisor: str, query: Pair) -> Facts:
    scale = scale_of(divisor, d_k)
    weights = softmax(np.array(query) @ slice_products()[d_k] / scale)
    here = {"weights": weights, "here": float(jacobian_norm(weights)) / scale}
    return {"scale": scale, **here, **statistics_of(d_k, divisor)}


def plain(gradient: float) -> str:
    """Two significant digits, and no power of ten."""
    if gradient < 1e-5:
        return "0.00000"
    return f"{float(significant(gradient, 2)):f}".rstrip("0")


def named(divisor: str) -> str:
    return "÷ " + divisor.replace("d_k", "dₖ")


def draw_slice(facts: Facts) -> Iterable[str]:
    """The darker, the larger the largest weight; rays where two keys are level; the query on a handle."""
    plane, (d_k, divisor) = SLICE, (facts["d_k"], facts["divisor"])
    yield word(14, 62, "a flat slice of the queries", 12, "soft", "start")
    yield word(
        14, 82, f"random queries: std of scores {fixed(facts['std'], 2)}", 13, anchor="start", bold=True
    )
    cell, shown = plane.width / N_CELLS, largest_weights(d_k, divisor) - 1 / N_KEYS
    yield box(plane.left, plane.top, plane.width, plane.height, "none", "hair", radius=0)
    yield heat(plane.left, plane.top, shown, (cell, cell), largest=1 - 1 / N_KEYS, fill="key", shades=8)
    labels = ""
    for key, start, end in sectors(d_k):
        yield line([plane.at(0, 0), at_edge(start)], "paper", 1.5)
        yield line([plane.at(0, 0), at_edge(start)], "soft", 0.8, dash="2 3")
        if end - start > 0.2:  # a narrower one has no room for a name
            x, y = at_edge((start + end) / 2, 0.85)
            labels += word(x, y + 4, KEY_NAMES[key], 11, "ink", halo="paper", pointer_events="none")
    yield dot(*plane.at(0, 0), plane.width / 2 / REACH, "none", "ink", 1, stroke_dasharray="5 4") + labels
    yield plane.handle("query", facts["query"], 0.05, label="query: u, v")


def at_edge(angle: float, part: float = 1.0) -> Pair:
    """Where a ray from the middle of the slice leaves it, or a part of the way there."""
    x, y = float(np.cos(angle)), float(np.sin(angle))
    reach = part * REACH / max(abs(x), abs(y))
    return SLICE.at(reach * x, reach * y)


def draw_weights(facts: Facts) -> Iterable[str]:
    yield word(BARS - 52, 62, f"largest weight, mean of {N_QUERIES:,}", 12, "soft", "start")
    yield word(BARS - 52, 82, fixed(facts["mean_max"], 2), 14, anchor="start", bold=True)
    yield word(BARS - 52, 114, "the query that you drag:", 12, "query", "start")
    yield side_bars(BARS, 120, KEY_NAMES, facts["weights"], width=100, row=21, fill="calm")
    yield word(BARS - 52, 306, f"its gradient: {plain(facts['here'])}", 12, "query", "start")


def draw_gradients(facts: Facts) -> Iterable[str]:
    """A curve for each divisor; the current point, and its curve, in the accent colour."""
    plane = CURVES
    yield word(plane.left - 46, 62, "how much weights change with q·k", 12, "soft", "start")
    yield word(
        plane.left - 46, 82, f"median gradient {plain(facts['gradient'])}", 14, "accent", "start", bold=True
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
    query = Point("query", SLICE, (0.8, 0.6), step=0.05)
    presets = {
        "unscaled-512": {"d_k": 512, "divisor": "1"},
        "scaled-512": {"d_k": 512, "divisor": "√d_k"},
        "over-flattened": {"d_k": 512, "divisor": "d_k"},
    }
    goals = {
        "edge": "÷ 1, d_k = 512: on or outside the circle, a second key gets 0.25",
        "lose-90": "÷ 1: smallest d_k with 10% or less of the gradient at ÷ √d_k, d_k = 64",
        "overtakes": "÷ √d_k: the smallest d_k whose gradient is larger than with ÷ 1",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        d_k, divisor, tenth = now["d_k"], now["divisor"], 0.1 * start["gradient"]
        narrower, unscaled = (statistics_of(max(1, d_k // 2), name) for name in (divisor, "1"))
        overtakes = now["gradient"] > statistics_of(d_k, "1")["gradient"]
        at_512 = divisor == "1" and d_k == 512 and np.hypot(*now["query"]) >= 1
        return {
            "edge": bool(at_512) and float(np.sort(now["weights"])[-2]) >= 0.25,
            "lose-90": divisor == "1" and now["gradient"] <= tenth < narrower["gradient"],
            "overtakes": divisor == "√d_k" and overtakes and narrower["gradient"] <= unscaled["gradient"],
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        yield word(14, 28, headline(facts), 15, anchor="start", bold=True)
        for draw in (draw_slice, draw_weights, draw_gradients):
            yield from draw(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        rows = ", ".join(fixed(weight, 2) for weight in facts["weights"])
        return (
            f"d_k = {facts['d_k']}, scores divided by {facts['divisor']}: "
            f"the scores have a standard deviation of {fixed(facts['std'], 2)}, and the largest of {N_KEYS} "
            f"attention weights is {fixed(facts['mean_max'], 2)} on average (at the query: {rows}). "
            f"The median gradient of the weights with respect to q·k is {plain(facts['gradient'])}."
        )
