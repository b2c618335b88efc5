"""The saturation lab: why the scores are divided by √d_k, and not by 1 or by d_k.

    >>> round(compute(d_k=512, divisor="1", query=1)["mean_max"], 2)    # one of eight keys takes nearly all
    0.96
    >>> round(compute(d_k=512, divisor="√d_k", query=1)["mean_max"], 2)
    0.36

2,048 random queries, each with eight random keys of its own; every entry is a standard normal. A narrower
d_k uses the first d_k entries of the same vectors, so the slider shows the same vectors growing wider.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Bars
from course_lib.explore.raster.base import Axes, Choice, Facts, Integer, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed, significant
from course_lib.views.lines import add_marker, format_log_ticks
from lessons.l00_start_here.softmax_dial import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DIVISORS = ("1", "√d_k", "d_k")
N_QUERIES, N_KEYS = 2048, 8
SEED = 22  # with it the first query is a typical one
N_EXAMPLES = 8  # queries that can be selected

REACH = 10.0  # the range of the histogram; scores beyond it are counted in its outermost bins
EDGES = np.linspace(-REACH, REACH, 41)
CENTRES = (EDGES[:-1] + EDGES[1:]) / 2
COLOURS = {"1": theme.ORANGE, "√d_k": theme.BLUE, "d_k": theme.PINK}


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
    scores = raw_scores()[d_k] / scale_of(divisor, d_k)
    weights = softmax(scores)
    fractions = np.histogram(scores.clip(-REACH, REACH), bins=EDGES)[0] / scores.size
    return {
        "std": float(scores.std()),
        "fractions": fractions,
        "mean_max": float(weights.max(axis=-1).mean()),
        "gradient": float(np.median(jacobian_norm(weights))),
    }


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """‖diag(w) − w wᵀ‖, the norm of the softmax's Jacobian, computed from sums of powers without matrices."""
    squares = (weights**2).sum(axis=-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(axis=-1) + squares**2, 0.0))


def compute(*, d_k: int, divisor: str, query: int) -> Facts:
    """The facts at one setting; `query` counts from 1."""
    scale = scale_of(divisor, d_k)
    weights = softmax(raw_scores()[d_k][query - 1] / scale)
    return {"scale": scale, "weights": weights, **statistics_of(d_k, divisor)}


def draw_scores(axes: Axes) -> Show:
    axes.set(xlabel="score after dividing", xlim=(-REACH, REACH), ylim=(0, 0.55), yticks=())
    axes.set_xticks((-10, -5, 0, 5, 10), ("≤ −10", "−5", "0", "5", "≥ 10"))
    axes.spines["left"].set_visible(False)
    histogram = axes.stairs(np.zeros(len(CENTRES)), EDGES, fill=True, alpha=0.8)
    bell = np.exp(-(CENTRES**2) / 2) / np.sqrt(2 * np.pi) * (EDGES[1] - EDGES[0])
    [reference] = axes.plot(CENTRES, bell, color=theme.INK, linewidth=1.3, linestyle=(0, (3, 2)))
    axes.text(1.5, 0.19, "std 1", fontsize=9, color=theme.SOFT_INK)
    spread = add_text(axes, 0.98, 0.94, coords="axes", ha="right", va="top", size=11, weight="bold")

    def show(facts: Facts) -> None:
        histogram.set(data=facts["fractions"], facecolor=COLOURS[facts["divisor"]])
        reference.set_visible(True)  # it never changes, but must be painted over the histogram, which does
        spread.set(text=f"std {fixed(facts['std'], 2)}", color=COLOURS[facts["divisor"]])

    return show


def draw_weights(axes: Axes) -> Show:
    bars = Bars(axes, range(1, N_KEYS + 1), high=1.0, size=9)
    axes.set(xlabel="key", yticks=(0, 0.5, 1), xlim=(-0.6, N_KEYS - 0.3))
    axes.set_ylim(0, 1.4)  # room for a line and the stamp above all bars
    [mark] = axes.plot([N_KEYS - 0.44], [0.5], "<", color=theme.INK, markersize=7)  # right of all bars
    mean = add_text(axes, 0.98, 0.985, coords="axes", ha="right", va="top", size=9.5)
    stamp = {"boxstyle": "round,pad=0.35", "fc": theme.PAPER, "ec": theme.HAIRLINE}
    position = {"transform": axes.transAxes, "ha": "right", "va": "center", "in_layout": False}
    axes.text(
        0.97, 0.865, "max-subtracted: no overflow", size=7.5, color=theme.SOFT_INK, bbox=stamp, **position
    )

    def show(facts: Facts) -> None:
        bars.show(facts["weights"], COLOURS[facts["divisor"]])
        mark.set_ydata([facts["mean_max"]])
        mean.set_text(f"◂ largest, mean over queries: {fixed(facts['mean_max'], 2)}")

    return show


def draw_gradients(axes: Axes) -> Show:
    axes.set(xscale="log", yscale="log", xlabel="dₖ", ylim=(2e-5, 2))
    axes.set(xticks=(1, 8, 64, 512), yticks=(1e-4, 1e-2, 1))
    format_log_ticks(axes.xaxis, axes.yaxis)
    axes.grid(axis="y")
    for divisor, x, y in (("1", 300, 2e-2), ("√d_k", 128, 0.72), ("d_k", 3, 0.13)):
        curve = [statistics_of(width, divisor)["gradient"] for width in WIDTHS]
        axes.plot(WIDTHS, curve, color=COLOURS[divisor], linewidth=2)
        named = "÷ " + divisor.replace("d_k", "dₖ")
        axes.text(x, y, named, color=COLOURS[divisor], fontweight="bold", ha="center")
    dot = add_marker(axes)

    def show(facts: Facts) -> None:
        dot.set(data=([facts["d_k"]], [facts["gradient"]]), markerfacecolor=COLOURS[facts["divisor"]])

    return show


class SaturationLab(RasterExplorable):
    title = "Saturation lab"
    question = "Why divide the scores by √d_k rather than by 1 or d_k?"
    d_k = Choice("d_k", WIDTHS, 64)
    divisor = Choice("divide by", DIVISORS, "√d_k", buttons=True)
    query = Integer("query", 1, N_EXAMPLES, 1)
    presets = {
        "unscaled-512": {"d_k": 512, "divisor": "1"},
        "scaled-512": {"d_k": 512, "divisor": "√d_k"},
        "over-flattened": {"d_k": 512, "divisor": "d_k"},
    }
    goals = {
        "lose-90": "÷ 1: smallest d_k with 10% or less of the gradient at ÷ √d_k, d_k = 64",
        "too-flat": "÷ d_k: the smallest d_k whose mean largest weight is below 0.14",
        "spared": "÷ 1, d_k = 512: a query whose largest attention weight is below 0.8",
    }
    panels = (
        Panel("Scores of all queries", draw_scores, 1.08),
        Panel("Attention weights, one query", draw_weights, 1.12),
        Panel("Softmax gradient, median", draw_gradients),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        narrower = statistics_of(max(1, now["d_k"] // 2), now["divisor"])
        tenth, divisor = 0.1 * start["gradient"], now["divisor"]
        return {
            "lose-90": divisor == "1" and now["gradient"] <= tenth < narrower["gradient"],
            "too-flat": divisor == "d_k" and now["mean_max"] < 0.14 <= narrower["mean_max"],
            "spared": (now["d_k"], divisor) == (512, "1") and now["weights"].max() < 0.8,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        named = facts["divisor"].replace("d_k", "dₖ")
        value = "" if facts["divisor"] == "1" else f" = {significant(facts['scale'])}"
        return [f"dₖ = {facts['d_k']}", f"scores ÷ {named}{value}", f"query {facts['query']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"d_k = {facts['d_k']}, scores divided by {facts['divisor']}: "
            f"the scores have a standard deviation of {fixed(facts['std'], 2)}, "
            f"the largest of {N_KEYS} attention weights is {fixed(facts['mean_max'], 2)} on average "
            f"({fixed(facts['weights'].max(), 2)} for query {facts['query']}), "
            f"and the median gradient of the softmax is {significant(facts['gradient'], 2)}."
        )
