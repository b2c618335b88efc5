"""A stage: a figure whose scenery is painted once, and whose actors are painted anew for every move.

    >>> stage = Stage(drawn, Moving([dot], show=lambda facts: dot.set_data([facts["x"]], [facts["y"]])))
    >>> stage.move({"x": 1.0, "y": 2.0})        # a few milliseconds, where a whole draw takes 150
    >>> stage.pixels().shape
    (608, 1536, 4)

This is matplotlib's "blitting". The figure never meets pyplot, so nothing can leak from here into a cell
that is drawing on another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from course_lib.views import encode


class Moving(NamedTuple):
    """The artists that change, and the function that changes them."""

    artists: Sequence[Artist]
    show: Callable[[dict[str, Any]], None]


class Stage:
    def __init__(self, figure: Figure, moving: Moving):
        self.figure = figure
        self._actors = sorted(moving.artists, key=lambda artist: artist.zorder)
        self._show = moving.show
        for actor in self._actors:
            actor.set_animated(True)  # a whole draw leaves it out
            actor.set_in_layout(False)  # and no space is kept for where it happens to be first
        figure.canvas.draw()
        figure.set_layout_engine("none")  # the layout is settled: no move may shift the scenery
        self._backdrop = figure.canvas.copy_from_bbox(figure.bbox)
        self.scenery = self.pixels().copy()
        self.scenery_png = encode.small(self.scenery)

    def move(self, facts: dict[str, Any]) -> None:
        """Put the actors where the facts say, and paint them on the scenery."""
        self._show(facts)
        canvas = self.figure.canvas
        canvas.restore_region(self._backdrop)
        renderer = canvas.get_renderer()
        for actor in self._actors:
            actor.draw(renderer)

    def pixels(self) -> np.ndarray:
        """What is on the stage now, actors and all: (height, width, 4), red green blue alpha."""
        return np.asarray(self.figure.canvas.buffer_rgba())
