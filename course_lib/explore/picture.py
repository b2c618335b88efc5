"""A picture in the page that follows its traits, with the words for those who cannot see it.

`ipywidgets.Image` has no alt text, and takes the whole picture anew for every move. This one has an `alt`
that a screen reader announces when it changes, and takes only the tiles that changed.
"""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Bytes, Int, Unicode

from course_lib.views import encode
from course_lib.views.mosaic import TILE, mosaic
from course_lib.views.stage import Stage

FOLDER = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    _esm = FOLDER / "picture.js"
    _css = FOLDER / "picture.css"
    width = Int().tag(sync=True)  # drawn pixels; the page shows half as many
    height = Int().tag(sync=True)
    tile = Int(TILE).tag(sync=True)
    scenery = Bytes().tag(sync=True)
    tiles = Bytes().tag(sync=True)
    places = Bytes().tag(sync=True)  # tile numbers, two bytes each
    alt = Unicode().tag(sync=True)

    def __init__(self, stage: Stage, alt: str):
        height, width, _ = stage.scenery.shape
        places, tiles = _changes(stage)
        super().__init__(
            width=width, height=height, scenery=stage.scenery_png, places=places, tiles=tiles, alt=alt
        )

    def show(self, stage: Stage, alt: str) -> None:
        """What is on the stage now, and the words for it, in one message."""
        places, tiles = _changes(stage)
        with self.hold_sync():
            self.alt, self.places, self.tiles = alt, places, tiles

    def __repr__(self) -> str:
        return f"Picture({self.alt!r})"


def _changes(stage: Stage) -> tuple[bytes, bytes]:
    places, tiles = mosaic(stage.pixels(), stage.scenery)
    return places.astype("<u2").tobytes(), encode.quick(tiles)
