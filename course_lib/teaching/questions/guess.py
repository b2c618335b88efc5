"""A guess first: predictions before a figure is shown, estimates before a number is measured.

    >>> predict("08", "unscaled-max", SaturationLab())                  # as the last line of a cell
    Guess('08', 'unscaled-max')
    >>> predict("08", "three-divisors", views.lines(...))               # a figure can be hidden too
    >>> estimate("06", "diagonal", percent_on_diagonal)                  # measured after the guess

The question is in the lesson's quiz.json, so the cell doesn't give the answer away. After the guess, it
and the answer are shown side by side, with the reason; an explorable opens with the preset that shows it. A
prediction is right or wrong; an estimate is judged by its factor. A small button shows the answer without a
guess; COURSE_OPEN=1 does so for all of them. The static form of an opened guess has the answer, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets

from course_lib import runtime
from course_lib.explore.live_view import live_view
from course_lib.formatting import significant
from course_lib.teaching import progress
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import Question, Reply, mark, question, read_answer
from course_lib.teaching.questions.question_card import (
    QuestionCard,
    question_html,
    question_payload,
    script,
    static_html,
)
from course_lib.views import Picture, StaticImage

if TYPE_CHECKING:
    from course_lib.explore.base import Explorable

Still = StaticImage | Picture
FOLDED = "<details><summary>The picture, for after your guess</summary>{}</details>"
ANSWER = '<div class="course-actual">'  # in static HTML, what follows it is the answer
COVER = "Hidden until you make a prediction. It's fine to be wrong: predicting first helps the answer stick."


def predict(lesson: str, name: str, covered: Explorable | Still) -> Guess:
    """Ask prediction `name` of lesson "08" before the explorable or the figure is shown."""
    return Guess(lesson, question(lesson, name, "single", "number"), covered=covered)


def estimate(lesson: str, name: str, measure: Callable[[], float] | None = None) -> Guess:
    """Ask estimate `name` of lesson "08"; the truth is `measure()`, or the answer in the file."""
    return Guess(lesson, question(lesson, name, "estimate"), measure=measure)


def names_of(asked: Question) -> tuple[str, str, str]:
    """What such a guess is called, its title, and what the truth is called."""
    if asked.kind == "estimate":
        return "estimate", "Estimate first", "Actual value"
    return "prediction", "Predict first", "Actual answer"


def guess_payload(asked: Question, covered: str) -> dict[str, Any]:
    """What the card needs to ask; `covered` is the title of what is hidden below it, if anything is."""
    kind, title, truth = names_of(asked)
    cover = [covered, COVER] if covered else []
    return {
        "title": title,
        "kind": kind,
        "truth": truth,
        "question": question_payload(asked),
        "cover": cover,
    }


class GuessCard(QuestionCard):
    """The question and the cover; later the guess next to the answer."""

    _esm = script("guess.js")


class Guess:
    """What `predict` and `estimate` return; it displays itself. Within a factor of 2 an estimate is right."""

    def __init__(
        self,
        lesson: str,
        asked: Question,
        *,
        covered: Explorable | Still | None = None,
        measure: Callable[[], float] | None = None,
    ):
        self.guess: Reply | None = None
        self.correct = self.opened = False
        self._lesson, self._question, self._covered, self._measure = lesson, asked, covered, measure
        # Of an explorable, as it starts; its live view is built when it is opened.
        self._image = still_of(covered)
        self._kind, self._title, self._truth = names_of(asked)
        payload = guess_payload(asked, getattr(covered, "title", "Figure") if covered else "")
        self._card = GuessCard(payload, self._receive)
        self.view = ipywidgets.VBox([self._card])  # what is covered is added when it is opened
        if runtime.switched_on("COURSE_OPEN"):
            self.open()

    def commit(self, guess: object) -> bool:
        """Make the one guess, the index of an option or a number; returns whether it is right."""
        if self.opened:
            raise ValueError(
                f"You can make one {self._kind}, before the answer is shown, but it is already open."
            )
        self._uncover(read_answer(self._question, guess))
        return self.correct

    def open(self) -> None:
        """Uncover without a guess."""
        if not self.opened:
            self._uncover(None)

    def _uncover(self, guess: Reply | None) -> None:
        """Mark the guess, show the answer, and show what was covered, in the state that illustrates it."""
        if self._measure:
            self._question = replace(self._question, answer=self._measure())
        asked, self.guess, self.opened = self._question, guess, True
        look, word = "seen", f"Shown without your {self._kind}"
        if guess is not None:
            feedback = mark(asked, guess)
            self.correct = feedback.correct
            event = {"kind": self._kind, "lesson": asked.lesson, "name": asked.id}
            progress.record({**event, "guess": self._text(guess), "correct": self.correct})
            look = "right" if self.correct else "wrong"
            word = feedback.word or ("As you predicted" if self.correct else "Not what you predicted")
        self._card.state = {
            "opened": True,
            "look": look,
            "word": word,
            "guess": None if guess is None else inline_html(self._text(guess)),
            "truth": inline_html(self._answer_text()),
            "because": inline_html(asked.because),
        }
        if self._covered is self._image is not None:
            self.view.children = [self._card, ipywidgets.HTML(self._image.img())]
        elif self._covered is not None:
            if asked.preset is not None:
                self._covered.preset(asked.preset)
            self.view.children = [self._card, self._covered.view]

    def _receive(self, content: dict[str, Any]) -> None:
        """The page sends {"guess": index or text} or {"open": true}; an unreadable one is asked for again."""
        if self.opened:
            return  # a second view of the same cell
        try:
            self.commit(content["guess"]) if "guess" in content else self.open()
        except ValueError as error:
            self._card.state = {"note": str(error), "asked": next(self._card.replies)}

    def _answer_text(self) -> str:
        asked = self._question
        return self._text(asked.right[0] if asked.kind == "single" else asked.answer)

    def _text(self, answer: Reply) -> str:
        """The text of an option, or the number with its unit."""
        if self._question.kind == "single":
            return self._question.options[answer].text
        number = f"{answer:,.0f}" if abs(answer) >= 1000 else significant(answer)
        return f"{number} {self._question.unit}".strip()

    def _answer_html(self) -> str:
        """The answer, the reason and what was covered, as static HTML."""
        image = still_of(self._covered)
        return (
            f"{ANSWER}<p><strong>{self._truth}:</strong> {static_html(self._answer_text())}</p>"
            f"<p>{static_html(self._question.because)}</p>{image.img() if image else ''}</div>"
        )

    def __repr__(self) -> str:
        return f"Guess({self._lesson!r}, {self._question.id!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        """The live view, and beside it the question and the explorable as it started, or the answer."""
        options = [f"  {letter}  {option.text}" for letter, _, option in self._question.shown]
        plain = "\n".join([f"{self._title}: {self._question.text}", *options])
        live, html = live_view(self.view), question_html(self._question, title=self._title)
        _, for_colab = self._card._repr_mimebundle_()  # how to load anywidget; only anywidget adds it
        if self.opened:
            plain += f"\n{self._truth}: {self._answer_text()}"
            return {**live, "text/plain": plain, "text/html": html + self._answer_html()}, for_colab
        if self._image:  # folded: it may be the answer
            html += FOLDED.format(self._image.img())
            if self._covered is not self._image:
                plain += f"\nAfter your {self._kind}: {self._image.alt}"
        return {**live, "text/plain": plain, "text/html": html}, for_colab


def still_of(covered: Explorable | Still | None) -> Still | None:
    """What a notebook stores of an explorable, as it is now, or of a figure."""
    return covered if covered is None or isinstance(covered, Still) else covered.static_image()
