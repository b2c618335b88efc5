"""A picture that moves: the scenery is painted once, and only what changes is painted and sent again.

    >>> def draw(figure):
    ...     [dot] = figure.subplots().plot([0], [0], "o")
    ...     return lambda facts: dot.set_data([facts["x"]], [facts["y"]])
    >>> moving = MovingFigure(theme.figure(9.6, 3.8), draw, {"x": 0, "y": 0})
    >>> moving.move({"x": 1.0, "y": 2.0})        # a few milliseconds, where a whole draw takes 150

This is matplotlib's "blitting", and the figure never meets pyplot.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

TILE = 32  # pixels
Facts = dict[str, Any]
Show = Callable[[Facts], None]


class MovingFigure:
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
        """What is seen now: (height, width, 4), red green blue alpha."""
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
