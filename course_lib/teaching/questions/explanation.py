"""In your own words: the learner writes, then sees a model answer and a list of points to tick.

    >>> explain("02", "forgets-or-cannot-learn")        # as the last line of a cell
    Explanation('02', 'forgets-or-cannot-learn')

Nothing is judged automatically. What was written and ticked is recorded in the learner's progress.
"""

from __future__ import annotations

from typing import Any

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import question
from course_lib.teaching.questions.question_card import QuestionCard, script, static_html

LONGEST = 2000  # characters


def explain(lesson: str, name: str) -> Explanation:
    """Ask for explanation `name` of lesson "08"."""
    return Explanation(lesson, name)


class Explanation(QuestionCard):
    """`state` holds what was written, the model answer and the ticks."""

    _esm = script("explain.js")

    def __init__(self, lesson: str, name: str):
        self._lesson, self._question = lesson, question(lesson, name, "explanation")
        super().__init__({"text": inline_html(self._question.text), "longest": LONGEST}, self._receive)
        if runtime.switched_on("COURSE_OPEN"):
            self.compare("")

    def compare(self, text: str) -> None:
        """Submit a text, which may be empty, and see the model answer."""
        points = [inline_html(point) for point in self._question.points]
        self._update(text=text[:LONGEST], model=inline_html(self._question.model), points=points, ticked=[])

    def _update(self, **changes: Any) -> None:
        """Send the changes to the page, and record what was written and ticked."""
        self.state = {**self.state, **changes}
        if self.state["text"].strip():
            event = {"kind": "explanation", "lesson": self._question.lesson, "name": self._question.id}
            answer = {"text": self.state["text"], "ticked": self.state["ticked"]}
            progress.record({**event, **answer, "of": len(self._question.points)})

    def _receive(self, content: dict[str, Any]) -> None:
        """The page sends {"text": what was written}, and later {"ticked": the indices of points}."""
        match content:
            case {"ticked": list(ticked)} if "text" in self.state:
                self._update(ticked=ticked)
            case {"text": str(text)}:
                self.compare(text)

    def __repr__(self) -> str:
        return f"Explanation({self._lesson!r}, {self._question.id!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_()
        points = "".join(f"<li>{static_html(point)}</li>" for point in self._question.points)
        data["text/html"] = (
            f"<div><p><strong>In your own words.</strong> {static_html(self._question.text)}</p>"
            f"<details><summary>A model answer</summary><p>{static_html(self._question.model)}</p>"
            f"<p>Does your answer cover these points?</p><ul>{points}</ul></details></div>"
        )
        data["text/plain"] = f"In your own words: {self._question.text}"
        return data, metadata
