"""The target of label smoothing, and the lowest possible loss.

    >>> round(compute(smoothing=0.1, words=37_000, softmax="once")["floor"], 4)
    1.3769
    >>> round(compute(smoothing=0.0, words=10_000, softmax="twice")["floor"], 2)
    8.21

The model gives the correct word the probability p and the others equal parts of the rest. No other
distribution has a lower loss, since the target treats the other words equally.
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Bars
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed, significant
from course_lib.views.lines import add_marker

SMOOTHINGS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
WORDS = (10, 195, 680, 2000, 10_000, 37_000)
PROBABILITIES = np.concatenate([np.linspace(0.002, 0.98, 180), 1 - np.geomspace(0.02, 1e-6, 60)])
HIGHEST = 11.0  # ln 37,000 is 10.5


def losses(p: np.ndarray, *, smoothing: float, words: int, softmax: str) -> np.ndarray:
    """The loss when the correct word gets p and the others equal parts of the rest."""
    right, other = 1 - smoothing + smoothing / words, smoothing / words
    each = (1 - p) / (words - 1)
    if softmax == "once":
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(other > 0, (words - 1) * other * np.log(each), 0.0)
        return -right * np.log(p) - rest
    total = np.log(np.exp(p) + (words - 1) * np.exp(each))  # probabilities go into a second softmax
    return total - right * p - (words - 1) * other * each


def compute(*, smoothing: float, words: int, softmax: str) -> Facts:
    """Everything that the panels show at one setting."""
    sizes = {"smoothing": smoothing, "words": words, "softmax": softmax}
    right = 1 - smoothing + smoothing / words
    best = right if softmax == "once" else 1.0
    floor = float(losses(np.array([best]), **sizes)[0])
    return {
        "right": right,
        "best": best,
        "floor": max(floor, 0.0),
        "perplexity": float(np.exp(floor)),
        "losses": losses(PROBABILITIES, **sizes),
    }


def draw_target(axes: Axes) -> Show:
    bars = Bars(axes, ("correct word", "all other words"), size=11)
    axes.set_yticks((0, 0.5, 1))
    axes.grid(axis="y")
    each = add_text(axes, 0.97, 0.68, coords="axes", ha="right", va="center", size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        bars.show(np.array([facts["right"], 1 - facts["right"]]), theme.GREEN)
        target = f"1 in {facts['words'] / facts['smoothing']:,.0f}" if facts["smoothing"] else "0"
        each.set_text(f"others: {target} each")

    return show


def draw_losses(axes: Axes) -> Show:
    axes.set(xlabel="the model's probability of the correct word", ylabel="loss")
    axes.set(xlim=(0, 1.02), ylim=(0, HIGHEST))
    axes.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "0.25", "0.5", "0.75", "1"))
    axes.grid(axis="y")
    [floor] = axes.plot([0, 1.02], [0, 0], color=theme.ORANGE, linewidth=1.4, linestyle=(0, (4, 2)))
    [curve] = axes.plot(PROBABILITIES, PROBABILITIES, color=theme.BLUE, linewidth=2)
    dot = add_marker(axes)
    lowest = add_text(axes, 0.97, 0.96, coords="axes", ha="right", va="top", size=11, weight="bold")

    def show(facts: Facts) -> None:
        floor.set_ydata([facts["floor"]] * 2)
        curve.set_ydata(facts["losses"])
        dot.set(data=([facts["best"]], [facts["floor"]]), markerfacecolor=theme.ORANGE)
        lowest.set(text=f"lowest loss {fixed(facts['floor'], 2)}", color=theme.ORANGE)

    return show


class LossFloor(RasterExplorable):
    title = "The lowest possible loss"
    question = "What target does label smoothing set, and how low can the loss get?"
    size = (9.6, 3.4)
    smoothing = Choice("smoothing ε", SMOOTHINGS, 0.1)
    words = Choice("vocabulary", WORDS, 10, text="{:,}".format)
    softmax = Choice("softmax", ("once", "twice"), "once", buttons=True)
    presets = {
        "no smoothing": {"smoothing": 0.0},
        "ours": {"words": 680},
        "the paper's": {"words": 37_000},
    }
    goals = {
        "above-one": "ε = 0.1: the smallest vocabulary whose lowest loss is above 1",
        "below-one": "37,000 words, some smoothing, and a lowest loss below 1",
        "stuck": "No smoothing, yet a lowest loss above 8",
    }
    panels = (Panel("Target distribution", draw_target, 0.8), Panel("Loss", draw_losses))
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        plain = (now["smoothing"], now["softmax"]) == (0.1, "once")
        fewer = WORDS[max(WORDS.index(now["words"]) - 1, 0)]
        floor_before = compute(smoothing=0.1, words=fewer, softmax="once")["floor"]
        return {
            "above-one": plain and now["floor"] > 1 >= floor_before,
            "below-one": now["words"] == WORDS[-1] and now["smoothing"] > 0 and now["floor"] < 1,
            "stuck": now["smoothing"] == 0 and now["floor"] > 8,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"ε = {facts['smoothing']:g}", f"{facts['words']:,} words", f"softmax {facts['softmax']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"Smoothing {facts['smoothing']:g}, {facts['words']:,} words, softmax {facts['softmax']}: the "
            f"target gives the correct word {fixed(facts['right'], 3)}. The lowest possible loss is "
            f"{fixed(facts['floor'], 2)} (perplexity {significant(facts['perplexity'], 3)}), where the "
            f"model gives it a probability of {fixed(facts['best'], 3)}."
        )
