"""A picture that moves: the scenery is painted once, and only what changes is painted and sent again.

    >>> def draw(figure):
    ...     [dot] = figure.subplots().plot([0], [0], "o")
    ...     return lambda facts: dot.set_data([facts["x"]], [facts["y"]])
    >>> stage = Stage(theme.figure(9.6, 3.8), draw, {"x": 0, "y": 0})
    >>> stage.move({"x": 1.0, "y": 2.0})        # a few milliseconds, where a whole draw takes 150

This is matplotlib's "blitting", and the figure never meets pyplot. `QuickText` and `Blocks` are what is
worth painting by other means than matplotlib's own when it moves.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.text import Text
from PIL import ImageFont

TILE = 32  # pixels
Facts = dict[str, Any]
Show = Callable[[Facts], None]
SIDES = {"left": "l", "center": "m", "right": "r"}
LEVELS = {"baseline": "s", "bottom": "d", "center": "m", "center_baseline": "m", "top": "a"}


class Stage:
    """`draw` paints the scenery and returns `show`, which must set all that moves, each time it is called."""

    def __init__(self, figure: Figure, draw: Callable[[Figure], Show], facts: Facts):
        self.figure = figure
        self._show = draw(figure)
        self.movers = self._what_moves(facts)
        for mover in self.movers:
            mover.set_animated(True)  # a whole draw leaves it out
            mover.set_in_layout(False)  # and no space is kept for where it happens to be first
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # the layout is settled: no move may shift the scenery
        for axes in figure.axes:  # rounded, for it differs in the last bit from run to run
            axes.set_position([round(side, 4) for side in axes.get_position(original=True).bounds])
        figure.canvas.draw()
        self._backdrop = figure.canvas.copy_from_bbox(figure.bbox)
        self.scenery = self.pixels().copy()

    def _what_moves(self, facts: Facts) -> list[Artist]:
        """What `show` touches: matplotlib marks it as stale, and whatever holds it."""
        artists = self.figure.findobj()
        for artist in artists:
            artist.stale = False
        self._show(facts)
        movers = [artist for artist in artists if artist.stale and not isinstance(artist, Axes | Figure)]
        return sorted(movers, key=lambda artist: artist.zorder)

    def move(self, facts: Facts) -> None:
        """Put what moves where the facts say, and paint it on the scenery."""
        self._show(facts)
        canvas = self.figure.canvas
        canvas.restore_region(self._backdrop)
        renderer = canvas.get_renderer()
        for mover in self.movers:
            mover.draw(renderer)

    def pixels(self) -> np.ndarray:
        """What is on the stage now: (height, width, 4), red green blue alpha."""
        return np.asarray(self.figure.canvas.buffer_rgba())

    def changes(self) -> tuple[bytes, bytes]:
        """The tiles that differ from the scenery: their numbers, counted along the rows, and their pixels.

        Most of a chart never changes: this takes a fifth of the time and a third of the bytes of the whole.
        """
        now, before = _tiles(self.pixels()), _tiles(self.scenery)
        changed = (now != before).any(axis=(1, 3))
        places, tiles = np.flatnonzero(changed), now.swapaxes(1, 2)[changed]
        return places.astype("<u2").tobytes(), zlib.compress(tiles, 1)


def _tiles(pixels: np.ndarray) -> np.ndarray:
    """(rows, TILE, columns, TILE), one number a pixel."""
    height, width, _ = pixels.shape
    if height % TILE or width % TILE:
        raise ValueError(
            f"A picture that moves is cut into tiles of {TILE} × {TILE} pixels, and {width} × {height} is "
            f"no whole number of them. At 160 pixels an inch, make width and height multiples of 0.2 inches."
        )
    return pixels.view(np.uint32).reshape(height // TILE, TILE, width // TILE, TILE)


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
