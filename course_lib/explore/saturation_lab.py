"""W7, the saturation lab: why the scores are divided by √d_k, and not by 1 or by d_k.

    >>> compute(d_k=512, divisor="1", query=1)["mean_max"]      # one key of eight takes nearly everything
    0.96
    >>> compute(d_k=512, divisor="√d_k", query=1)["mean_max"]
    0.36

2,048 random queries, each with eight random keys of its own; every entry is a standard normal. A narrower
d_k uses the first d_k entries of the same vectors, so moving the slider shows one world growing, not ten.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from traitlets import Enum, Int

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.explore.control import Control
from course_lib.explore.header import header
from course_lib.explore.softmax import softmax
from course_lib.formatting import fixed, significant
from course_lib.views.bars import Bars
from course_lib.views.lines import plain_powers
from course_lib.views.quick_text import quick_text
from course_lib.views.stage import Moving

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DIVISORS = ("1", "√d_k", "d_k")
N_QUERIES, N_KEYS = 2048, 8
SEED = 22  # with it the first query is a typical one
N_EXAMPLES = 8  # queries a learner can look at one by one

REACH = 10.0  # the histogram's window; what lies beyond is heaped into its outermost bars
EDGES = np.linspace(-REACH, REACH, 41)
COLOURS = {"1": theme.ORANGE, "√d_k": theme.BLUE, "d_k": theme.PINK}


def divide_by(divisor: str, d_k: int) -> float:
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
def spread_of(d_k: int, divisor: str) -> dict[str, Any]:
    """What holds for all queries together at one setting."""
    scores = raw_scores()[d_k] / divide_by(divisor, d_k)
    weights = softmax(scores)
    shares = np.histogram(scores.clip(-REACH, REACH), bins=EDGES)[0] / scores.size
    return {
        "std": float(scores.std()),
        "beyond": float((np.abs(scores) > REACH).mean()),
        "shares": shares,
        "mean_max": float(weights.max(axis=-1).mean()),
        "entropy": float(entropy(weights).mean()),
        "gradient": float(np.median(jacobian_norm(weights))),
    }


def entropy(weights: np.ndarray) -> np.ndarray:
    """In nats: ln 8 = 2.08 when all eight weights are equal, 0 when one has everything."""
    return -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """‖diag(w) − w wᵀ‖, the size of softmax's derivative at its input: how much gradient comes through.

    Written out in sums of powers, it needs no matrix per row.
    """
    squares = (weights**2).sum(axis=-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(axis=-1) + squares**2, 0.0))


def compute(*, d_k: int, divisor: str, query: int) -> dict[str, Any]:
    """Everything the picture shows at one setting; `query` counts from 1."""
    scale = divide_by(divisor, d_k)
    return {
        "d_k": d_k,
        "divisor": divisor,
        "query": query,
        "scale": scale,
        "weights": softmax(raw_scores()[d_k][query - 1] / scale),
        **spread_of(d_k, divisor),
    }


def draw(figure: Figure) -> Moving:
    state = header(figure, SaturationLab.title)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.08, 1.12, 1))
    centres = (EDGES[:-1] + EDGES[1:]) / 2

    left.set_title("Scores of all queries")
    left.set(xlim=(-REACH, REACH), ylim=(0, 0.55), xlabel="score after dividing", yticks=())
    left.set_xticks((-10, -5, 0, 5, 10), ("≤ −10", "−5", "0", "5", "≥ 10"))
    left.spines["left"].set_visible(False)
    heaps = left.stairs(np.zeros(len(centres)), EDGES, fill=True, alpha=0.8)
    bell = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi) * (EDGES[1] - EDGES[0])
    [reference] = left.plot(centres, bell, color=theme.INK, linewidth=1.3, linestyle=(0, (3, 2)))
    left.text(1.5, 0.19, "spread 1", fontsize=9, color=theme.SOFT_INK)
    spread = quick_text(left, 0.98, 0.94, of="axes", ha="right", va="top", size=11, weight="bold")

    middle.set_title("Weights of one query")
    weight_bars = Bars(middle, [str(i + 1) for i in range(N_KEYS)], high=1.0, size=9)
    middle.set(xlabel="key", yticks=(0, 0.5, 1))
    [mean_mark] = middle.plot([N_KEYS - 0.44], [0.5], "<", color=theme.INK, markersize=7)  # right of all bars
    mean_text = quick_text(middle, 0.98, 0.985, of="axes", ha="right", va="top", size=9.5)
    middle.set_ylim(0, 1.4)  # room for that line and the stamp, whatever the bars do
    middle.set_xlim(-0.6, N_KEYS - 0.3)
    middle.text(
        0.97,
        0.865,
        "max-subtracted: no overflow",
        transform=middle.transAxes,
        ha="right",
        va="center",
        fontsize=7.5,
        color=theme.SOFT_INK,
        in_layout=False,
        bbox={"boxstyle": "round,pad=0.35", "fc": theme.PAPER, "ec": theme.HAIRLINE},
    )

    right.set_title("Softmax slope, median")
    right.set(xscale="log", yscale="log", xlabel="dₖ", ylim=(2e-5, 2))
    right.set_xticks((1, 8, 64, 512))
    right.set_yticks((1e-4, 1e-2, 1))
    plain_powers(right.xaxis)
    plain_powers(right.yaxis)
    right.grid(axis="y", color=theme.HAIRLINE, linewidth=0.6)
    for divisor in DIVISORS:
        curve = [spread_of(width, divisor)["gradient"] for width in WIDTHS]
        right.plot(WIDTHS, curve, color=COLOURS[divisor], linewidth=2)
    for divisor, x, y in (("1", 300, 2e-2), ("√d_k", 128, 0.72), ("d_k", 3, 0.13)):
        right.text(
            x, y, "÷ " + divisor.replace("d_k", "dₖ"), color=COLOURS[divisor], fontweight="bold", ha="center"
        )
    [dot] = right.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)

    def show(facts: dict[str, Any]) -> None:
        colour = COLOURS[facts["divisor"]]
        named = facts["divisor"].replace("d_k", "dₖ")
        worth = "" if facts["divisor"] == "1" else f" = {significant(facts['scale'])}"
        state.set_text(f"dₖ = {facts['d_k']}   ·   scores ÷ {named}{worth}   ·   query {facts['query']}")
        heaps.set_data(facts["shares"])
        heaps.set_facecolor(colour)
        spread.set_text(f"spread {fixed(facts['std'], 2)}")
        spread.set_color(colour)
        weight_bars.show(facts["weights"], colour)
        mean_mark.set_ydata([facts["mean_max"]])
        mean_text.set_text(f"◂ largest, mean of all queries: {fixed(facts['mean_max'], 2)}")
        dot.set_data([facts["d_k"]], [facts["gradient"]])
        dot.set_color(colour)
        dot.set_markeredgecolor(theme.PAPER)

    return Moving([state, heaps, reference, spread, *weight_bars.artists, mean_mark, mean_text, dot], show)


class SaturationLab(Explorable):
    title = "Saturation lab"
    question = "Why divide the scores by √d_k, and not by 1 or by d_k?"
    d_k = Enum(WIDTHS, default_value=64)
    divisor = Enum(DIVISORS, default_value="√d_k")
    query = Int(1, min=1, max=N_EXAMPLES)
    controls = (
        Control("d_k", "d_k"),
        Control("divisor", "divide by", buttons=True),
        Control("query", "query"),
    )
    presets: ClassVar = {
        "unscaled-512": {"d_k": 512, "divisor": "1"},
        "scaled-512": {"d_k": 512, "divisor": "√d_k"},
        "over-flattened": {"d_k": 512, "divisor": "d_k"},
    }
    compute = staticmethod(compute)
    draw = staticmethod(draw)

    def describe(self, facts: dict[str, Any]) -> str:
        return (
            f"d_k = {facts['d_k']}, scores divided by {facts['divisor']}: "
            f"the scores spread by {fixed(facts['std'], 2)}, "
            f"the largest of {N_KEYS} weights is {fixed(facts['mean_max'], 2)} on average "
            f"({fixed(facts['weights'].max(), 2)} for query {facts['query']}), "
            f"and the median slope of the softmax is {significant(facts['gradient'], 2)}."
        )
