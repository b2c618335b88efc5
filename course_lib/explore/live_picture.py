"""The widget that shows an explorable's picture as SVG: one takes hold of it, and it answers every report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
from traitlets import List, Unicode

from course_lib import theme

FOLDER = Path(__file__).parent


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


class ExplorableWidget(anywidget.AnyWidget):
    """What every explorable's picture has on the page, whatever it is drawn with."""

    alt = Unicode().tag(sync=True)
    goals = List().tag(sync=True)  # of {"text", "reached"}
    announcement = Unicode().tag(sync=True)  # for screen readers: a goal just reached

    def update(self, traits: dict[str, Any]) -> None:
        """Set several traits with one message to the page."""
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.alt!r})"


class LivePicture(ExplorableWidget):
    _esm = read("goals.js") + read("live.js") + read("live_picture.js")
    _css = theme.PAGE_STYLE + read("explorable.css") + read("live.css")
    svg = Unicode().tag(sync=True)
    play = Unicode().tag(sync=True)  # what the play button plays; empty: there is none
