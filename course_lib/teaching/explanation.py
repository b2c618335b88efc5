"""In your own words: the learner writes, then sees a model answer and a few points to tick off by themselves.

    >>> explain("08", "two-matrices")                   # as the last line of a cell
    Explanation('08', 'two-matrices')

Nothing is judged by a machine. What was written and ticked is kept in the learner's progress.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.maths import dollars, inline_html
from course_lib.teaching.questions import question
from course_lib.teaching.static import CARD_STYLE, static_text

LONGEST = 2000  # characters


def explain(lesson: str, name: str) -> Explanation:
    """Ask for explanation `name` of lesson "08"."""
    made = Explanation(lesson, name)
    if runtime.switched_on("COURSE_OPEN"):
        made.compare("")
    return made


class Explanation(anywidget.AnyWidget):
    """The card. `state` tells the page what was written, the model answer and the ticks."""

    _esm = static_text("card.js", "explain.js")
    _css = CARD_STYLE

    payload = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: str, name: str):
        self._lesson, self._asked = lesson, question(lesson, name, "explanation")
        super().__init__()
        self.payload = {"text": inline_html(self._asked.text), "longest": LONGEST}
        self.on_msg(self._hear)

    def compare(self, text: str) -> None:
        """Hand in what was written (nothing is allowed), and see the model answer."""
        self.state = {
            "text": text[:LONGEST],
            "model": inline_html(self._asked.model),
            "points": [inline_html(point) for point in self._asked.points],
            "ticked": [],
        }
        if text.strip():
            self._keep()

    def tick(self, points: list[int]) -> None:
        """The points that the learner finds in their own words."""
        known = range(len(self._asked.points))
        self.state = {**self.state, "ticked": sorted({point for point in points if point in known})}
        if self.state.get("text", "").strip():
            self._keep()

    def _keep(self) -> None:
        said = {"text": self.state["text"], "ticked": self.state["ticked"], "of": len(self._asked.points)}
        event = {"kind": "explanation", "lesson": self._asked.lesson, "name": self._asked.id}
        progress.record(event | said)

    def _hear(self, widget: object, content: Any, buffers: object) -> None:
        if isinstance(content, dict) and isinstance(content.get("text"), str):
            self.compare(content["text"])
        elif isinstance(content, dict) and isinstance(content.get("ticked"), list):
            self.tick(content["ticked"])

    def __repr__(self) -> str:
        return f"Explanation({self._lesson!r}, {self._asked.id!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_()
        asked, model = (inline_html(text, formula=dollars) for text in (self._asked.text, self._asked.model))
        points = "".join(f"<li>{inline_html(point, formula=dollars)}</li>" for point in self._asked.points)
        data["text/html"] = (
            f"<div><p><strong>In your own words.</strong> {asked}</p>"
            f"<details><summary>A model answer</summary><p>{model}</p>"
            f"<p>Does yours say:</p><ul>{points}</ul></details></div>"
        )
        data["text/plain"] = f"In your own words: {self._asked.text}"
        return data, metadata
