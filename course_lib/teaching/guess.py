"""Commit a guess first: predictions before a picture opens, estimates before a number is measured.

    >>> predict("08", "unscaled-max", SaturationLab())                  # as the last line of a cell
    Guess('08', 'unscaled-max')
    >>> predict("08", "divisor-map", views.heatmap(...))                # a figure may be covered too
    >>> estimate("08", "trained-spread", measure)                       # measured when the guess is in

What is asked stands in the lesson's quiz.json, so that the cell does not give the answer away. After the
commit guess and truth stand side by side, with the reason; an explorable opens in the preset that shows it.
A prediction is right or wrong; an estimate is judged by factor. A small button opens without a guess;
COURSE_OPEN=1 does so for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from course_lib import runtime
from course_lib.formatting import significant
from course_lib.teaching import progress
from course_lib.teaching.maths import dollars, inline_html
from course_lib.teaching.questions import Answer, Feedback, Question, mark, question, received
from course_lib.teaching.quiz import asked_again, question_payload
from course_lib.teaching.static import CARD_STYLE, static_text
from course_lib.views import Still

if TYPE_CHECKING:
    from course_lib.explore.base import Explorable

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
COVER = "Covered until you have made a guess. Being wrong is fine: a guess is what makes the answer stick."


def predict(lesson: str, name: str, covered: Explorable | Still) -> Guess:
    """Ask prediction `name` of lesson "08" before the explorable, or the figure, is uncovered."""
    asked = question(lesson, name, "single", "number")
    presets = getattr(covered, "presets", {})
    if asked.preset is not None and asked.preset not in presets:
        there = ", ".join(presets) or "none"
        raise ValueError(
            f"Prediction {name!r} of lesson {lesson} wants the preset {asked.preset!r}, which "
            f"{type(covered).__name__} does not have. It has: {there}."
        )
    return _opened(Guess(lesson, asked, covered=covered))


def estimate(lesson: str, name: str, measure: Callable[[], float] | None = None) -> Guess:
    """Ask estimate `name` of lesson "08"; then `measure()`, or the answer in the file, is the truth."""
    return _opened(Guess(lesson, question(lesson, name, "estimate"), measure=measure))


def _opened(guess: Guess) -> Guess:
    if runtime.switched_on("COURSE_OPEN"):
        guess.open()
    return guess


def _live(covered: Explorable | Still) -> ipywidgets.DOMWidget:
    """An explorable's own view, or a figure as a picture that follows the page's theme."""
    if not isinstance(covered, Still):
        return covered.view
    picture = ipywidgets.Image(value=covered.png, width=covered.width)
    picture.add_class("course-diagram")
    return picture


class GuessCard(anywidget.AnyWidget):
    """The question, the cover, and later guess beside truth."""

    _esm = static_text("card.js", "guess.js")
    _css = CARD_STYLE

    payload = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)


class Guess:
    """What `predict` and `estimate` return; it displays itself."""

    def __init__(
        self,
        lesson: str,
        asked: Question,
        *,
        covered: Explorable | Still | None = None,
        measure: Callable[[], float] | None = None,
    ):
        self.guess: Answer | None = None
        self.feedback: Feedback | None = None
        self.opened = False
        self._lesson, self._asked, self._covered, self._measure = lesson, asked, covered, measure
        # An explorable as it starts; its live view is not built before it is opened. A figure is not stored:
        # it would be the answer.
        self._stored = None
        if covered is not None and not isinstance(covered, Still):
            self._stored = getattr(covered, "stored", covered._repr_mimebundle_)()
        self._card = GuessCard(
            payload={
                "title": "Estimate first" if asked.kind == "estimate" else "Predict first",
                "truth": "What it is" if asked.kind == "estimate" else "What happens",
                "question": question_payload(asked),
                "cover": [getattr(covered, "title", "A figure"), COVER] if covered else [],
            }
        )
        self.view = ipywidgets.VBox([self._card])  # what is covered joins when it is opened
        self._card.on_msg(self._hear)

    @property
    def correct(self) -> bool:
        """Whether the guess was right (an estimate: within a factor of 2); False as long as there is none."""
        return self.feedback is not None and bool(self.feedback.correct)

    def commit(self, guess: object) -> bool:
        """Commit a guess, an option's place or a number; tells whether it is right. A guess is made once."""
        if self.guess is not None:
            raise ValueError(f"The guess {self._text(self.guess)} is committed already, and stays.")
        self.guess = received(self._asked, guess)
        truth = self._measure() if self._measure else self._asked.answer
        self.feedback = mark(self._asked, self.guess, truth=truth)
        kind = "estimate" if self._asked.kind == "estimate" else "prediction"
        event = {"kind": kind, "lesson": self._asked.lesson, "name": self._asked.id}
        progress.record({**event, "guess": self._text(self.guess), "correct": self.correct})
        self.open(truth)
        return self.correct

    def open(self, truth: float | None = None) -> None:
        """Uncover, with or without a guess, in the state that shows the truth."""
        if self.opened:
            return
        self.opened = True
        if truth is None and self._asked.answer is None and self._measure:
            truth = self._measure()
        self._card.state = self._told(self._asked.answer if truth is None else truth)
        if self._covered is not None:
            if self._asked.preset is not None:
                self._covered.preset(self._asked.preset)
            self.view.children = [self._card, _live(self._covered)]

    def _hear(self, widget: object, content: Any, buffers: object) -> None:
        """The page sends {"guess": place or text} or {"open": true}; what cannot be read is asked again."""
        if not isinstance(content, dict) or self.opened:
            return
        try:
            self.commit(content.get("guess")) if "guess" in content else self.open()
        except ValueError as error:
            self._card.state = {"note": str(error), "asked": asked_again(self._card.state)}

    def _told(self, truth: float | None) -> dict[str, Any]:
        right = self._asked.right[0] if self._asked.options else truth
        look, word = "seen", "Shown without a guess"
        if self.feedback is not None:
            look = "right" if self.correct else "wrong"
            word = self.feedback.word or ("As you predicted" if self.correct else "Not as you predicted")
        because = self._asked.feedback or self._asked.options[0].feedback
        return {
            "opened": True,
            "look": look,
            "word": word,
            "guess": None if self.guess is None else inline_html(self._text(self.guess)),
            "truth": inline_html(self._text(right)),
            "because": inline_html(because),
        }

    def _text(self, answer: Answer) -> str:
        """An answer in words: the option's text, or the number with its unit."""
        if self._asked.options:
            return self._asked.options[answer].text
        number = f"{answer:,.0f}" if abs(answer) >= 1000 else significant(answer)
        return f"{number} {self._asked.unit}".strip()

    def __repr__(self) -> str:
        return f"Guess({self._lesson!r}, {self._asked.id!r})"

    def __str__(self) -> str:
        asked = self._asked
        options = [f"  {asked.letter(place)}  {asked.options[place].text}" for place in asked.order]
        return "\n".join([f"{self._card.payload['title']}: {self._asked.text}", *options])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        live = {**self.view._repr_mimebundle_(), "text/plain": str(self)}
        if self._stored is None:
            asked = inline_html(self._asked.text, formula=dollars)
            html = f"<p><strong>{escape(self._card.payload['title'])}</strong> {asked}</p>"
            return {**live, "text/html": html}, {}
        data, metadata = self._stored
        then = data.get("text/plain", "")
        return {**data, **live, "text/plain": f"{self}\nThen look: {then}"}, metadata
