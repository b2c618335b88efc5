"""Bars, heat maps and dots on an explorable's own axes, which it updates.

>>> panel = Bars(axes, ["cat", "water"])
>>> panel.show(np.array([0.7, 0.3]))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, to_rgba

from course_lib import theme
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import minus

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

Kind = Literal["weights", "scores"]
MASKED = "#C9C6BD"


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


class Heatmap:
    """Cells with a thin line between them; row 0 is at the top."""

    def __init__(self, axes: Axes, rows: Sequence[str], columns: Sequence[str], *, kind: Kind = "weights"):
        if kind not in ("weights", "scores"):
            raise ValueError(f'A heat map shows kind="weights" or kind="scores", not {kind!r}.')
        self._axes, self._kind = axes, kind
        shape = (len(rows), len(columns))
        self._colours = (theme.WEIGHTS if kind == "weights" else theme.SCORES).with_extremes(bad=MASKED)
        lines = {"edgecolors": theme.HAIRLINE, "linewidth": 0.8}
        # pcolormesh, not imshow: it draws a matrix of this size twenty times faster
        self._mesh = axes.pcolormesh(np.zeros(shape), cmap=self._colours, norm=Normalize(0, 1), **lines)
        axes.set_xlim(0, shape[1])
        axes.set_ylim(shape[0], 0)
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(shape[0]) + 0.5, rows)
        axes.set_xticks(np.arange(shape[1]) + 0.5, columns)
        for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
            label.set_parse_math(False)  # `$x$` is a word here, not a formula
        if max(map(len, columns)) > 4:
            for label in axes.get_xticklabels():
                label.set(rotation=40, ha="right", rotation_mode="anchor")

    def show(self, matrix: np.ndarray) -> None:
        cells = np.ma.masked_invalid(matrix)
        largest = 1.0 if self._kind == "weights" else float(np.abs(cells).max() or 1.0)
        self._mesh.norm.vmin = 0.0 if self._kind == "weights" else -largest
        self._mesh.norm.vmax = largest
        self._mesh.set_array(cells)
        self._mesh.stale = True  # matplotlib marks it only if the scale changes too

    def text_colour(self, value: float) -> str:
        """The colour in which text is readable on a cell of this value."""
        return theme.ink_on(self._colours(self._mesh.norm(value)) if np.isfinite(value) else to_rgba(MASKED))

    def draw_rings(
        self, marks: Collection[tuple[int, int]], matrix: np.ndarray, *, diameter: float, width: float
    ) -> None:
        for row, column in sorted(marks):
            ring = {"ms": diameter, "mfc": "none", "mec": self.text_colour(matrix[row, column]), "mew": width}
            self._axes.plot(column + 0.5, row + 0.5, "o", **ring)


class RunDots:
    """Rows of dots on axes; x is in the units of their x axis, row 0 is at the top.

    `add` makes the names to the left of the dots: `add_text`, where an explorable changes them often.
    """

    def __init__(self, axes: Axes, n_rows: int, *, add: Callable[..., Any] = add_text, size: float = 9):
        axes.set(ylim=(n_rows - 0.5, -0.5), yticks=())
        axes.spines["left"].set_visible(False)
        [self._lines] = axes.plot([], [], color=theme.HAIRLINE, linewidth=0.8, zorder=0.5)
        self._dots = axes.scatter([], [], s=size**2 / 2.5, alpha=0.8, linewidths=0, zorder=3)
        heights = 1 - (np.arange(n_rows) + 0.5) / n_rows
        style = {"ha": "right", "va": "center", "size": size, "coords": "axes"}
        self.names = [add(axes, -0.02, y, **style) for y in heights]
        self._axes = axes

    def show(
        self, rows: Sequence[Sequence[float]], names: Sequence[str], colours: Sequence[str] | None = None
    ) -> None:
        places, counts = np.arange(len(rows)), [len(runs) for runs in rows]
        low, high = self._axes.get_xlim()
        self._lines.set_data(np.tile([low, high, np.nan], len(rows)), np.repeat(places, 3))
        numbers = np.concatenate([[], *rows])
        self._dots.set_offsets(np.column_stack([numbers, np.repeat(places, counts)]))
        self._dots.set_facecolor(list(np.repeat(colours or [theme.BLUE] * len(rows), counts)))
        for number, text in enumerate(self.names):
            text.set_text(names[number] if number < len(names) else "")
