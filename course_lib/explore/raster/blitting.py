"""A figure of which only the changing artists are drawn again (matplotlib calls this blitting).

>>> def draw(figure):
...     [dot] = figure.subplots().plot([0], [0], "o")
...     return lambda facts: dot.set_data([facts["x"]], [facts["y"]])
>>> figure = BlittedFigure(theme.figure(9.6, 3.8), draw, {"x": 0, "y": 0})
>>> figure.update({"x": 1.0, "y": 2.0})        # a few milliseconds; a whole draw takes 150
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist

if TYPE_CHECKING:  # slow to import
    from matplotlib.figure import Figure

TILE = 32  # pixels
Facts = dict[str, Any]
Show = Callable[[Facts], None]


class BlittedFigure:
    """`draw` draws the background and returns `show`, which must set all that changes at every call."""

    def __init__(self, figure: Figure, draw: Callable[[Figure], Show], facts: Facts):
        self.figure = figure
        self._show = draw(figure)
        self.animated = self._find_animated(facts)
        for artist in self.animated:
            artist.set_animated(True)  # a whole draw leaves it out
            artist.set_in_layout(False)  # and its first position reserves no space
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # no update may shift the background
        for axes in figure.axes:  # rounded, because the last bit differs from run to run
            axes.set_position([round(side, 4) for side in axes.get_position(original=True).bounds])
        figure.canvas.draw()
        self._background_region = figure.canvas.copy_from_bbox(figure.bbox)
        self.background = self.pixels().copy()

    def _find_animated(self, facts: Facts) -> list[Artist]:
        """The artists that `show` changes: matplotlib marks them, and what contains them, as stale."""
        from matplotlib.axes import Axes  # slow to import
        from matplotlib.figure import Figure

        artists = self.figure.findobj()
        for artist in artists:
            artist.stale = False
        self._show(facts)
        changed = [artist for artist in artists if artist.stale and not isinstance(artist, Axes | Figure)]
        return sorted(changed, key=lambda artist: artist.zorder)

    def update(self, facts: Facts) -> None:
        self._show(facts)
        canvas = self.figure.canvas
        canvas.restore_region(self._background_region)
        renderer = canvas.get_renderer()
        for artist in self.animated:
            artist.draw(renderer)

    def pixels(self) -> np.ndarray:
        """(height, width, 4): red, green, blue, alpha."""
        return np.asarray(self.figure.canvas.buffer_rgba())

    def changed_tiles(self) -> tuple[bytes, bytes]:
        """The tiles that differ from the background: their numbers, counted row by row, and their pixels.

        Most of a chart never changes: this takes a fifth of the time and a third of the bytes of a whole PNG.
        """
        now, before = _tiles(self.pixels()), _tiles(self.background)
        changed = (now != before).any(axis=(1, 3))
        numbers, tiles = np.flatnonzero(changed), now.swapaxes(1, 2)[changed]
        return numbers.astype("<u2").tobytes(), zlib.compress(tiles, 1)


def _tiles(pixels: np.ndarray) -> np.ndarray:
    """(rows, TILE, columns, TILE), with one number per pixel."""
    height, width, _ = pixels.shape
    if height % TILE or width % TILE:
        raise ValueError(
            f"An explorable is sent in tiles of {TILE} × {TILE} pixels, and {width} × {height} is no whole "
            "number of them. At 160 pixels an inch, make width and height multiples of 0.2 inches."
        )
    return pixels.view(np.uint32).reshape(height // TILE, TILE, width // TILE, TILE)
