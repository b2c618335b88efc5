"""What a picture that moves is made of: texts, blocks, bars, heat maps, a dot on a curve.

    >>> bars = Bars(axes, ["cat", "water"])
    >>> bars.show(np.array([0.7, 0.3]))             # and again, at every move

All that is not matplotlib's own is here because it is painted many times faster, or drawn in many panels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, NullLocator
from PIL import ImageFont

from course_lib import theme
from course_lib.views.still import ink_on, minus

SIDES = {"left": "l", "center": "m", "right": "r"}
LEVELS = {"baseline": "s", "bottom": "d", "center": "m", "center_baseline": "m", "top": "a"}
Kind = Literal["weights", "scores"]
MASKED = "#C9C6BD"


class QuickText(Text):
    """Text that may change on every move, drawn by Pillow twenty times faster than by matplotlib.

    Same font, same place, same colour; one line, no formulas. A rotation of 90 degrees stands it upright, to
    be read from below; no other is known.
    """

    def draw(self, renderer: Any) -> None:
        if not self.get_text():
            return
        pixels = round(self.get_fontsize() * renderer.dpi / 72)
        anchor = SIDES[self.get_horizontalalignment()] + LEVELS[self.get_verticalalignment()]
        colour = to_rgba(self.get_color(), self.get_alpha())
        ink, left, top = _ink(self.get_text(), str(self.get_fontweight()), pixels, anchor, colour)
        x, y = self.get_transform().transform(self.get_unitless_position())
        right, up = left, -top - len(ink)
        if self.get_rotation() == 90:
            ink, right, up = np.ascontiguousarray(ink[::-1].swapaxes(0, 1)), top, left
        if ink.size:
            brush = renderer.new_gc()
            renderer.draw_image(brush, round(x) + right, round(y) + up, ink)
            brush.restore()


def quick_text(
    where: Axes | Figure,
    x: float,
    y: float,
    text: str = "",
    *,
    ha: str = "left",
    va: str = "baseline",
    colour: str | None = None,
    size: float | None = None,
    weight: str = "normal",
    of: str = "data",
) -> QuickText:
    """A quick text in a figure (x and y from 0 to 1) or in axes, in data units or `of="axes"` (0 to 1)."""
    words = QuickText(x, y, text, ha=ha, va=va, color=colour, fontsize=size, fontweight=weight, zorder=5)
    if isinstance(where, Figure):
        words.set_transform(where.transFigure)
    else:
        words.set_transform(where.transData if of == "data" else where.transAxes)
    where.add_artist(words)
    return words


def write(texts: Sequence[Text], words: Iterable[str], colours: Any = None, bold: Any = None) -> None:
    """Put words into texts, in order; the texts left over are blank. Colours: one for all, or for each."""
    words = list(words)
    for i, text in enumerate(texts):
        text.set_text(words[i] if i < len(words) else "")
        text.stale = True  # also where it was blank before: it may move later
        if colours is not None and i < len(words):
            text.set_color(colours if isinstance(colours, str) else colours[i])
        if bold is not None and i < len(words):
            text.set_fontweight("bold" if bold[i] else "normal")


def bare(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Paper to draw on: from end to end, without ticks and frame."""
    axes.set(xlim=x, ylim=y, xticks=(), yticks=())
    axes.spines[:].set_visible(False)


@lru_cache(maxsize=4096)  # a slider that goes back and forth shows the same few numbers again
def _ink(
    text: str, weight: str, pixels: int, anchor: str, rgba: tuple[float, ...]
) -> tuple[np.ndarray, int, int]:
    """The text as coloured pixels, lowest row first, and where they lie from the anchor."""
    mask, (left, top) = _font(weight, pixels).getmask2(text, mode="L", anchor=anchor)
    width, height = mask.size
    ink = np.empty((height, width, 4), dtype=np.uint8)
    ink[..., :3] = np.multiply(rgba[:3], 255).round()
    ink[..., 3] = np.frombuffer(bytes(mask), dtype=np.uint8).reshape(height, width) * rgba[3]
    return ink[::-1], left, top


@cache
def _font(weight: str, pixels: int) -> ImageFont.FreeTypeFont:
    path = findfont(FontProperties(family="DejaVu Sans", weight=weight))
    return ImageFont.truetype(path, pixels, layout_engine=ImageFont.Layout.BASIC)


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


class LyingBars:
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

    def show(self, values: np.ndarray, readings: Sequence[str], colours: Any = None) -> None:
        ends = {"left": np.minimum(values, 0), "right": np.maximum(values, 0)}
        sides = {"low": self._rows - self._half, "high": self._rows + self._half}
        self._bars.place(**ends, **sides, colours=colours)
        for text, value, reading in zip(self.readings, values, readings, strict=True):
            text.set(text=reading, x=max(value, 0) + self._gap)


class Heatmap:
    """Cells on axes, with a hairline between them; row 0 on top."""

    def __init__(self, axes: Axes, rows: Sequence[str], columns: Sequence[str], *, kind: Kind = "weights"):
        if kind not in ("weights", "scores"):
            raise ValueError(f'A heat map shows kind="weights" or kind="scores", not {kind!r}.')
        self._kind = kind
        shape = (len(rows), len(columns))
        self._map = (theme.WEIGHTS if kind == "weights" else theme.SCORES).with_extremes(bad=MASKED)
        # pcolormesh, not imshow: twenty times faster to draw for a matrix of this size
        self._mesh = axes.pcolormesh(
            np.zeros(shape), cmap=self._map, norm=Normalize(0, 1), edgecolors=theme.HAIRLINE, linewidth=0.8
        )
        axes.set_xlim(0, shape[1])
        axes.set_ylim(shape[0], 0)
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(shape[0]) + 0.5, rows)
        axes.set_xticks(np.arange(shape[1]) + 0.5, columns)
        for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
            label.set_parse_math(False)  # words may come from anywhere, and `$x$` is one
        if max(map(len, columns)) > 4:
            for label in axes.get_xticklabels():
                label.set(rotation=40, ha="right", rotation_mode="anchor")

    def show(self, matrix: np.ndarray) -> None:
        cells = np.ma.masked_invalid(matrix)
        reach = 1.0 if self._kind == "weights" else float(np.abs(cells).max() or 1.0)
        self._mesh.norm.vmin = 0.0 if self._kind == "weights" else -reach
        self._mesh.norm.vmax = reach
        self._mesh.set_array(cells)
        self._mesh.stale = True  # matplotlib says so only where the scale changes too

    def ink_on(self, value: float) -> str:
        """The text colour that reads well on a cell of this value."""
        return ink_on(self._map(self._mesh.norm(value)) if np.isfinite(value) else to_rgba(MASKED))


def marked_point(axes: Axes) -> Line2D:
    """The dot on a curve that says "you are here"; `set_data` moves it."""
    [dot] = axes.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)
    return dot


def plain_powers(*axes: Axis) -> None:
    """Ticks of log axes as 0.01, 1, 100 and not as powers of ten, and none between."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
