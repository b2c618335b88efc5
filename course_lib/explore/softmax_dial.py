"""The first explorable a learner meets: three scores, one dial, and what softmax makes of them.

>>> compute(multiplier=1.0)["weights"].round(2)
array([0.51, 0.31, 0.19])
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.explore.control import Control, Number
from course_lib.explore.header import header
from course_lib.explore.softmax import softmax
from course_lib.formatting import fixed
from course_lib.views.bars import Bars
from course_lib.views.stage import Moving

WORDS = ("cat", "water", "drank")
SCORES = np.array([1.0, 0.5, 0.0])
SHARPEST = 8.0


def compute(*, multiplier: float) -> dict[str, Any]:
    """Softmax of the three scores, each multiplied by the dial."""
    scores = SCORES * multiplier
    return {"multiplier": multiplier, "scores": scores, "weights": softmax(scores)}


def draw(figure: Figure) -> Moving:
    state = header(figure, SoftmaxDial.title)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1))
    left.set_title("Scores × multiplier")
    right.set_title("Softmax: weights that add up to 1")
    score_bars = Bars(left, list(WORDS), high=SHARPEST, colour=theme.ORANGE, digits=1, size=11.5)
    weight_bars = Bars(right, list(WORDS), high=1.0, colour=theme.BLUE, size=11.5)
    right.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
    left.set_yticks((0, 2, 4, 6, 8))
    for axes in (left, right):
        axes.grid(axis="y", color=theme.HAIRLINE, linewidth=0.6)
        axes.tick_params(axis="x", labelsize=11, labelcolor=theme.INK)

    def show(facts: dict[str, Any]) -> None:
        state.set_text(f"multiplier {fixed(facts['multiplier'], 1)}")
        score_bars.show(facts["scores"])
        weight_bars.show(facts["weights"])

    return Moving([state, *score_bars.artists, *weight_bars.artists], show)


class SoftmaxDial(Explorable):
    title = "Softmax dial"
    question = "Three scores become three weights. How sure should the softmax be?"
    size = (9.6, 3.2)
    multiplier = Number(1.0, min=0.0, max=SHARPEST)
    controls = (Control("multiplier", "multiplier", step=0.1),)
    presets: ClassVar = {"flat": {"multiplier": 0.0}, "sharp": {"multiplier": SHARPEST}}
    compute = staticmethod(compute)
    draw = staticmethod(draw)

    def describe(self, facts: dict[str, Any]) -> str:
        shares = ", ".join(
            f"{word} {fixed(weight, 2)}" for word, weight in zip(WORDS, facts["weights"], strict=True)
        )
        return f"Scores times {fixed(facts['multiplier'], 1)}: the weights are {shares}. They add up to 1."
