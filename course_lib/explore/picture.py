"""What moves in the page: the picture, the words for those who cannot see it, and the goals.

`ipywidgets.Image` has no alt text, and takes the whole picture anew for every move. This one has an `alt`
that a screen reader announces when it changes, and takes only the tiles that changed.
"""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Bytes, Int, List, Unicode

from course_lib import theme
from course_lib.explore.moving import TILE, MovingFigure
from course_lib.views import still

FOLDER = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    _esm = FOLDER / "picture.js"
    _css = theme.PAGE_STYLE + (FOLDER / "picture.css").read_text(encoding="utf-8")
    width = Int().tag(sync=True)  # drawn pixels; the page shows half as many
    height = Int().tag(sync=True)
    tile = Int(TILE).tag(sync=True)
    scenery = Bytes().tag(sync=True)  # a PNG
    places = Bytes().tag(sync=True)  # numbers of the changed tiles, two bytes each
    tiles = Bytes().tag(sync=True)  # their pixels, deflated
    alt = Unicode().tag(sync=True)
    goals = List().tag(sync=True)  # {"text", "reached"}
    news = Unicode().tag(sync=True)  # what a screen reader says of a goal just reached

    def __init__(self, moving: MovingFigure, alt: str, goals: list[dict]):
        height, width, _ = moving.scenery.shape
        places, tiles = moving.changes()
        scenery = still.encoded(moving.scenery)
        sizes = {"width": width, "height": height}
        super().__init__(**sizes, scenery=scenery, places=places, tiles=tiles, alt=alt, goals=goals)

    def show(self, moving: MovingFigure, alt: str, goals: list[dict], news: str) -> None:
        """What is seen now, the words for it and the goals, in one message."""
        places, tiles = moving.changes()
        with self.hold_sync():
            self.alt, self.places, self.tiles, self.goals = alt, places, tiles, goals
            self.news = news or self.news

    def __repr__(self) -> str:
        return f"Picture({self.alt!r})"
