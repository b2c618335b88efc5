"""The tracks of the course: the full one, and a short one with a notebook of its own for every lesson.

    >>> road_map()                      # in lesson 00: the learner chooses a track and sees its lessons
    RoadMap('full')

The choice is an event in the learner's progress.
"""

from __future__ import annotations

from typing import Any

import ipywidgets

from course_lib.explore.live_view import live_view
from course_lib.teaching import progress
from course_lib.teaching.contents import FULL, SHORT, TRACKS, hours, lesson_table, lessons

NAMES = {FULL: "The full course", SHORT: "The short track, the main ideas only"}
FOLDERS = {  # links to the notebooks of each track, from a notebook of one
    FULL: {FULL: "", SHORT: "short/"},
    SHORT: {SHORT: "", FULL: "../"},
}
_notebook = FULL


def enter_track(track: str) -> None:
    """`start_lesson` says which track's notebook this kernel runs."""
    global _notebook
    if track not in TRACKS:
        raise ValueError(f"There is no track {track!r}. There are: {', '.join(TRACKS)}.")
    _notebook = track


def notebook_track() -> str:
    return _notebook


def road_map() -> RoadMap:
    """The table of all lessons, and the choice of a track."""
    return RoadMap(notebook_track())


class RoadMap(ipywidgets.VBox):
    """Two radio buttons and the lessons of the chosen track. Without a kernel: the lessons of both."""

    _ipython_display_ = None  # as in QuestionCard

    def __init__(self, notebook: str):
        self._folders = FOLDERS[notebook]
        chosen = progress.read().track or notebook
        options = [(f"{NAMES[track]}: {hours(lessons(), track)}", track) for track in TRACKS]
        layout = ipywidgets.Layout(width="auto")
        self.choice = ipywidgets.RadioButtons(options=options, value=chosen, layout=layout)
        self.choice.observe(self._choose, "value")
        self.table = ipywidgets.Output()
        super().__init__([self.choice, self.table])
        self._show(chosen)

    def _choose(self, change: dict[str, Any]) -> None:
        progress.choose_track(change["new"])
        self._show(change["new"])

    def _show(self, track: str) -> None:
        """As an output, because Jupyter resolves the relative links of outputs only."""
        table = lesson_table(lessons(), {track: self._folders[track]})
        data = {"text/markdown": table, "text/plain": table}
        self.table.outputs = ({"output_type": "display_data", "data": data, "metadata": {}},)

    def __repr__(self) -> str:
        return f"RoadMap({self.choice.value!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        table = lesson_table(lessons(), self._folders)
        return live_view(self) | {"text/plain": repr(self), "text/markdown": table}
