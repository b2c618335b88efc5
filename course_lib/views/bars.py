"""Bar charts: a few numbers to compare, most often attention weights.

    >>> bars([0.7, 0.2, 0.1], labels=["cat", "water", "drank"], title="Attention of “it”")

An explorable updates bars on its own axes:

    >>> panel = Bars(axes, ["cat", "water"])
    >>> panel.show(np.array([0.7, 0.3]))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection

from course_lib import theme
from course_lib.formatting import minus
from course_lib.views.pillow_text import add_text
from course_lib.views.static_image import StaticImage, fit, to_array, to_labels

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes


def bars(
    values: Any,
    *,
    labels: Any,
    title: str = "",
    name: str = "attention weight",
    high: float | None = None,
    digits: int = 2,
    alt: str | None = None,
) -> StaticImage:
    """A bar chart of one row of numbers. `name` says what the height of a bar means."""
    heights = to_array(values, ndim=1, name="The bars' values")
    texts = to_labels(labels, count=len(heights), name="Labels of the bars")
    if not np.isfinite(heights).all():
        raise ValueError(f"Bars need finite heights, such as attention weights; got {heights.tolist()}.")
    axes = theme.figure().subplots()
    if high is None:
        high = 1.0 if name == "attention weight" else max(heights.max(), 0.0) or 1.0
    Bars(axes, texts, low=min(heights.min(), 0.0), high=high, digits=digits).show(heights)
    axes.set_ylabel(name)
    axes.set_title(title)
    fit(axes, width=max(3.0, sum(max(0.62, 0.1 * len(text) + 0.15) for text in texts)), height=2.1)
    readings = ", ".join(f"{text} {value:.{digits}f}" for text, value in zip(texts, heights, strict=True))
    return StaticImage(axes.figure, alt=alt or f"{title or 'Bars'}: {name} of {readings}.")


class Rectangles(PolyCollection):
    """Rectangles in one collection, which draws four times faster than as many patches.

    >>> rectangles = Rectangles(axes, 2)
    >>> rectangles.set_edges(left=[0, 1], right=[0.8, 1.8], low=0, high=[0.3, 0.7], colours=theme.BLUE)
    """

    def __init__(self, axes: Axes, count: int, colour: Any = None):
        self._corners = np.zeros((count, 4, 2))
        super().__init__(self._corners, facecolors=colour, edgecolors="none")
        axes.add_collection(self, autolim=False)

    def set_edges(self, *, left: Any, right: Any, low: Any, high: Any, colours: Any = None) -> None:
        """Each edge is one number per rectangle, or one for all."""
        self._corners[:, (0, 3), 0] = np.reshape(left, (-1, 1))
        self._corners[:, (1, 2), 0] = np.reshape(right, (-1, 1))
        self._corners[:, (0, 1), 1] = np.reshape(low, (-1, 1))
        self._corners[:, (2, 3), 1] = np.reshape(high, (-1, 1))
        self.set_verts(self._corners)
        if colours is not None:
            self.set_facecolor(colours)


class Bars:
    """Vertical bars, each with its number above it, or below it if negative."""

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
        positions = np.arange(len(labels))
        self._bars = Rectangles(axes, len(labels), colour)
        self._left = positions - 0.36
        self._texts = [add_text(axes, x, 0, ha="center", size=size) for x in positions]
        self._gap = 0.025 * (high - low)
        axes.set_xlim(-0.6, len(labels) - 0.4)
        text_height = 5 * self._gap
        axes.set_ylim(low - text_height if low < 0 else low, high + text_height)
        axes.set_xticks(positions, labels)
        axes.axhline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
        axes.spines["bottom"].set_visible(False)

    def show(self, values: np.ndarray, colour: str | None = None) -> None:
        self._bars.set_edges(left=self._left, right=self._left + 0.72, low=0, high=values, colours=colour)
        for text, value in zip(self._texts, values, strict=True):
            text.set_text(minus(f"{value:.{self._digits}f}"))
            text.set_verticalalignment("bottom" if value >= 0 else "top")
            text.set_y(value + (self._gap if value >= 0 else -self._gap))


class HorizontalBars:
    """Bars at the heights `rows`, each with a text right of its end (`value_texts`) and one at `label_x`."""

    def __init__(
        self,
        axes: Axes,
        rows: Any,
        *,
        gap: float,
        colour: str = theme.BLUE,
        thickness: float = 0.64,
        size: float = 9.5,
        label_x: float = 0.0,
        label_size: float = 10.0,
    ):
        self._gap, self._bars = gap, Rectangles(axes, len(rows), colour)
        self._sides = {"low": np.asarray(rows) - thickness / 2, "high": np.asarray(rows) + thickness / 2}
        self.labels = [add_text(axes, label_x, y, ha="right", va="center", size=label_size) for y in rows]
        self.value_texts = [add_text(axes, 0, y, va="center", size=size) for y in rows]
        axes.set_yticks(())
        axes.spines["left"].set_visible(False)

    def show(self, values: np.ndarray, texts: Sequence[str], colours: Any = None) -> None:
        ends = {"left": np.minimum(values, 0), "right": np.maximum(values, 0)}
        self._bars.set_edges(**ends, **self._sides, colours=colours)
        for artist, value, text in zip(self.value_texts, values, texts, strict=True):
            artist.set(text=text, x=max(value, 0) + self._gap)
