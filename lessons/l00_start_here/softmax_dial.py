"""The first explorable of the course: the softmax of three scores, with a multiplier to turn.

>>> compute(multiplier=1.0)["probabilities"].round(2)
array([0.67, 0.24, 0.09])
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Bars
from course_lib.explore.raster.base import Axes, Facts, Number, Panel, RasterExplorable, Show
from course_lib.formatting import fixed

WORDS = ("cat", "water", "drank")
SCORES = np.array([2.0, 1.0, 0.0])
LARGEST = 4.0  # multiplier


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax over the last axis. The largest score is subtracted first, so that nothing overflows."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def compute(*, multiplier: float) -> Facts:
    """The three scores times the multiplier, and their softmax."""
    scores = SCORES * multiplier
    return {"scores": scores, "probabilities": softmax(scores)}


def draw_scores(axes: Axes) -> Show:
    bars = Bars(axes, WORDS, high=LARGEST * SCORES[0], colour=theme.ORANGE, digits=1, size=11.5)
    axes.set_yticks((0, 2, 4, 6, 8))
    _add_grid(axes)
    return lambda facts: bars.show(facts["scores"])


def draw_probabilities(axes: Axes) -> Show:
    bars = Bars(axes, WORDS, size=11.5)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
    _add_grid(axes)
    return lambda facts: bars.show(facts["probabilities"])


def _add_grid(axes: Axes) -> None:
    axes.grid(axis="y")
    axes.tick_params(axis="x", labelsize=11, labelcolor=theme.INK)


class SoftmaxDial(RasterExplorable):
    title = "Softmax dial"
    question = "Three scores become three probabilities. What does the multiplier do to them?"
    size = (9.6, 3.2)
    multiplier = Number("multiplier", 0.0, LARGEST, 1.0, step=0.1)
    presets = {"flat": {"multiplier": 0.0}, "sharp": {"multiplier": LARGEST}}
    goals = {
        "sure": "Raise the probability of “cat” above 0.9",
        "equal": "Make all three probabilities equal",
    }
    panels = (
        Panel("Scores × multiplier", draw_scores),
        Panel("Softmax: probabilities sum to 1", draw_probabilities),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "sure": now["probabilities"][0] > 0.9,
            "equal": np.ptp(now["probabilities"]) < 1e-9,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"multiplier {fixed(facts['multiplier'], 1)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        pairs = zip(WORDS, facts["probabilities"], strict=True)
        listed = ", ".join(f"{word} {fixed(probability, 2)}" for word, probability in pairs)
        return f"Scores times {fixed(facts['multiplier'], 1)}: the probabilities are {listed}. They sum to 1."
