"""Predict first: an explorable stays covered until the learner has committed a guess.

    >>> predict("08", "unscaled-max", SaturationLab())      # as the last line of a cell
    Prediction('08', 'unscaled-max')

What is asked stands in the lesson's quiz.json, so that the cell does not give the answer away. After the
commit, guess and truth stand side by side, and the explorable opens in the preset that shows the truth.
A small button opens it without a guess; COURSE_OPEN=1 does so for all of them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.asked import Asked, Guess
from course_lib.teaching.quiz_data import read_lesson
from course_lib.teaching.static import static_text
from course_lib.views import still

if TYPE_CHECKING:
    from course_lib.explore.base import Explorable


def predict(lesson: str, name: str, explorable: Explorable) -> Prediction:
    """Ask question `name` of lesson "08" before the explorable opens."""
    content = read_lesson(lesson)
    prediction = Prediction(lesson, content.topic, content.asked(name), explorable)
    if runtime.switched_on("COURSE_OPEN"):
        prediction.open()
    return prediction


class GuessCard(anywidget.AnyWidget):
    """The question, the cover, and later guess beside truth. `guess` is an option's place or a number."""

    _esm = static_text("card.js", "guess.js")
    _css = static_text("card.css")

    payload = traitlets.Dict().tag(sync=True)
    guess = traitlets.Any(None, allow_none=True).tag(sync=True)
    opened = traitlets.Bool(False).tag(sync=True)

    def __repr__(self) -> str:
        return "GuessCard()"


class Prediction:
    """What `predict` returns; it displays itself."""

    def __init__(self, lesson: str, topic: str, asked: Asked, explorable: Explorable):
        if asked.preset is not None and asked.preset not in explorable.presets:
            there = ", ".join(explorable.presets) or "none"
            raise ValueError(
                f"Prediction {asked.id!r} of lesson {lesson} wants the preset {asked.preset!r}, which "
                f"{type(explorable).__name__} does not have. It has: {there}."
            )
        self.guess: Guess | None = None
        self.opened = False
        self._lesson = lesson
        self._topic = topic
        self._asked = asked
        self._explorable = explorable
        self._alt = explorable.describe(explorable.facts)  # of the start, whatever is opened later
        self._still = explorable.still()
        self._card = GuessCard(payload={**asked.payload, "cover": explorable.title})
        self.view = ipywidgets.VBox([self._card])  # the explorable's own view joins when it is opened
        self._card.observe(self._committed, names="guess")
        self._card.observe(self._uncovered, names="opened")

    def commit(self, guess: Guess) -> bool:
        """Commit a guess, an option's text or a number; tells whether it is right. A guess is made once."""
        if self.guess is not None:
            raise ValueError(f"The guess {self.guess!r} is committed already, and stays.")
        self._card.guess = self._asked.sent(guess)
        return self.correct

    @property
    def correct(self) -> bool:
        """Whether the guess was right; False as long as there is none."""
        return self.guess is not None and self._asked.is_right(self.guess)

    def open(self) -> None:
        """Uncover the explorable, with or without a guess, in the state that shows the truth."""
        self._card.opened = True

    def _committed(self, change: dict[str, Any]) -> None:
        if self.guess is not None:
            return  # a second view of the same card; the first guess stays
        self.guess = self._asked.received(change["new"])
        event = {"kind": "prediction", "lesson": self._topic, "name": self._asked.id}
        progress.record({**event, "guess": self.guess, "correct": self.correct})
        self.open()

    def _uncovered(self, change: dict[str, Any]) -> None:
        if self.opened:
            return
        self.opened = True
        if self._asked.preset is not None:
            self._explorable.preset(self._asked.preset)
        self.view.children = [self._card, self._explorable.view]

    def __repr__(self) -> str:
        return f"Prediction({self._lesson!r}, {self._asked.id!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width, height = struct.unpack(">II", self._still[16:24])  # where a PNG keeps its size
        data, metadata = still.bundle(self._still, alt=self._alt, width=width // 2, height=height // 2)
        text = f"{self._asked}\nThen look: {self._alt}"
        return {**data, **self.view._repr_mimebundle_(), "text/plain": text}, metadata
