"""Bars: a handful of numbers that are to be compared, most often attention weights.

    >>> bars([0.7, 0.2, 0.1], labels=["cat", "water", "drank"], title="Where “it” looks")

Below it, bars that move, on axes of an explorable:

    >>> panel = Bars(axes, ["cat", "water"])
    >>> panel.show(np.array([0.7, 0.3]))                # and again, at every move
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from course_lib import theme
from course_lib.formatting import minus
from course_lib.views.quick_text import quick_text
from course_lib.views.still import Still, as_labels, as_numbers, fit


def bars(
    values: Any,
    *,
    labels: Any,
    title: str = "",
    name: str = "weight",
    high: float | None = None,
    digits: int = 2,
    alt: str | None = None,
) -> Still:
    """A still picture of one row of numbers. `name` says what a bar's height is."""
    heights = as_numbers(values, ndim=1, what="The bars' values")
    texts = as_labels(labels, count=len(heights), what="Labels of the bars")
    if not np.isfinite(heights).all():
        raise ValueError(
            f"A bar needs a finite height, and these are {heights.tolist()}. Bars for weights, not for −inf."
        )
    axes = theme.figure().subplots()
    top = high if high is not None else (1.0 if name == "weight" else max(heights.max(), 0.0) or 1.0)
    panel = Bars(axes, texts, low=min(heights.min(), 0.0), high=top, digits=digits)
    panel.show(heights)
    axes.set_ylabel(name)
    axes.set_title(title)
    fit(axes, width=max(3.0, sum(max(0.62, 0.1 * len(text) + 0.15) for text in texts)), height=2.1)
    readings = ", ".join(f"{text} {value:.{digits}f}" for text, value in zip(texts, heights, strict=True))
    return Still(axes.figure, alt=alt or f"{title or 'Bars'}: {name} of {readings}.")


class Blocks(PolyCollection):
    """Many bars painted in one stroke, four times faster than as many rectangles.

    >>> blocks = Blocks(axes, 2)
    >>> blocks.place(left=[0, 1], right=[0.8, 1.8], low=0, high=[0.3, 0.7], colours=["#0072B2", "#D55E00"])
    """

    def __init__(self, axes: Axes, count: int, colour: Any = None):
        self._corners = np.zeros((count, 4, 2))
        super().__init__(self._corners, facecolors=colour, edgecolors="none")
        axes.add_collection(self, autolim=False)

    def place(self, *, left: Any, right: Any, low: Any, high: Any, colours: Any = None) -> None:
        """Each edge as one number a block, or one for all."""
        self._corners[:, (0, 3), 0] = np.reshape(left, (-1, 1))
        self._corners[:, (1, 2), 0] = np.reshape(right, (-1, 1))
        self._corners[:, (0, 1), 1] = np.reshape(low, (-1, 1))
        self._corners[:, (2, 3), 1] = np.reshape(high, (-1, 1))
        self.set_verts(self._corners)
        if colours is not None:
            self.set_facecolor(colours)


class Bars:
    """Upright bars with their numbers above (below, where one is negative), from `low` to `high`."""

    def __init__(
        self,
        axes: Axes,
        labels: Sequence[Any],
        *,
        low: float = 0.0,
        high: float = 1.0,
        colour: str = theme.BLUE,
        digits: int = 2,
        size: float = 9.5,
    ):
        self._digits = digits
        spots = range(len(labels))
        self._bars = Blocks(axes, len(labels), colour)
        self._left = np.arange(len(labels)) - 0.36
        self._readings = [quick_text(axes, x, 0, ha="center", size=size) for x in spots]
        self._gap = 0.025 * (high - low)
        axes.set_xlim(-0.6, len(labels) - 0.4)
        room = 5 * self._gap  # for a number beyond the longest bar
        axes.set_ylim(low - room if low < 0 else low, high + room)
        axes.set_xticks(spots, labels)
        axes.axhline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
        axes.spines["bottom"].set_visible(False)

    def show(self, values: np.ndarray, colour: str | None = None) -> None:
        self._bars.place(left=self._left, right=self._left + 0.72, low=0, high=values, colours=colour)
        for reading, value in zip(self._readings, values, strict=True):
            reading.set_text(minus(f"{value:.{self._digits}f}"))
            reading.set_verticalalignment("bottom" if value >= 0 else "top")
            reading.set_y(value + (self._gap if value >= 0 else -self._gap))


class HorizontalBars:
    """Bars that lie, each at its height of `rows`: a number behind it, and room for `words` before it."""

    def __init__(
        self,
        axes: Axes,
        rows: Any,
        *,
        gap: float,
        colour: str = theme.BLUE,
        thick: float = 0.64,
        size: float = 9.5,
        words_at: float = 0.0,
        words_size: float = 10.0,
    ):
        self._rows, self._gap, self._half = np.asarray(rows), gap, thick / 2
        self._bars = Blocks(axes, len(rows), colour)
        self.words = [quick_text(axes, words_at, y, ha="right", va="center", size=words_size) for y in rows]
        self.readings = [quick_text(axes, 0, y, va="center", size=size) for y in rows]
        axes.set_yticks(())
        axes.spines["left"].set_visible(False)

    def show(self, values: np.ndarray, readings: Sequence[str], colours: Any = None) -> None:
        ends = {"left": np.minimum(values, 0), "right": np.maximum(values, 0)}
        sides = {"low": self._rows - self._half, "high": self._rows + self._half}
        self._bars.place(**ends, **sides, colours=colours)
        for text, value, reading in zip(self.readings, values, readings, strict=True):
            text.set(text=reading, x=max(value, 0) + self._gap)
