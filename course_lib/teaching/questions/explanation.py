"""In your own words: the learner writes, then sees a model answer and a few points to tick off by themselves.

    >>> explain("08", "two-matrices")                   # as the last line of a cell
    Explanation('08', 'two-matrices')

Nothing is judged by a machine. What was written and ticked is kept in the learner's progress.
"""

from __future__ import annotations

from typing import Any

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import question
from course_lib.teaching.questions.question_card import QuestionCard, script, still_html

LONGEST = 2000  # characters


def explain(lesson: str, name: str) -> Explanation:
    """Ask for explanation `name` of lesson "08"."""
    return Explanation(lesson, name)


class Explanation(QuestionCard):
    """The card. `state` tells the page what was written, the model answer and the ticks."""

    _esm = script("explain.js")

    def __init__(self, lesson: str, name: str):
        self._lesson, self._asked = lesson, question(lesson, name, "explanation")
        super().__init__({"text": inline_html(self._asked.text), "longest": LONGEST}, self._hear)
        if runtime.switched_on("COURSE_OPEN"):
            self.compare("")

    def compare(self, text: str) -> None:
        """Hand in what was written (nothing is allowed), and see the model answer."""
        points = [inline_html(point) for point in self._asked.points]
        self._tell(text=text[:LONGEST], model=inline_html(self._asked.model), points=points, ticked=[])

    def tick(self, points: list[int]) -> None:
        """The points that the learner finds in their own words."""
        self._tell(ticked=points)

    def _tell(self, **told: Any) -> None:
        """Tell the page, and keep what was written and ticked."""
        self.state = {**self.state, **told}
        if self.state["text"].strip():
            event = {"kind": "explanation", "lesson": self._asked.lesson, "name": self._asked.id}
            said = {"text": self.state["text"], "ticked": self.state["ticked"], "of": len(self._asked.points)}
            progress.record(event | said)

    def _hear(self, content: dict[str, Any]) -> None:
        self.tick(content["ticked"]) if "ticked" in content else self.compare(content["text"])

    def __repr__(self) -> str:
        return f"Explanation({self._lesson!r}, {self._asked.id!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_()
        points = "".join(f"<li>{still_html(point)}</li>" for point in self._asked.points)
        data["text/html"] = (
            f"<div><p><strong>In your own words.</strong> {still_html(self._asked.text)}</p>"
            f"<details><summary>A model answer</summary><p>{still_html(self._asked.model)}</p>"
            f"<p>Does yours say:</p><ul>{points}</ul></details></div>"
        )
        data["text/plain"] = f"In your own words: {self._asked.text}"
        return data, metadata
