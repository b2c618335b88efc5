"""Predict first: an explorable stays covered until the learner has committed a guess.

    >>> predict(
    ...     "Eight scores, unscaled, keys of width 512. How large is the largest weight, on average?",
    ...     SaturationLab(), answer=0.96, tolerance=0.05, preset="unscaled-512",
    ...     because="The scores spread by $\\sqrt{512}$, so one of them nearly always wins.",
    ...     name="query_key_value/unscaled-max",
    ... )
    Prediction('query_key_value/unscaled-max')

After the commit, guess and truth stand side by side and the explorable opens in the preset that shows the
truth. A small button opens it without a guess; COURSE_OPEN=1 does so for all of them.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.maths import inline_html
from course_lib.teaching.quiz_data import LETTERS
from course_lib.teaching.quiz_marking import within
from course_lib.teaching.static import static_text
from course_lib.views import still

if TYPE_CHECKING:
    from course_lib.explore.base import Explorable

NAME = re.compile(r"[a-z0-9_]+/[a-z0-9-]+")


def predict(
    question: str,
    explorable: Explorable,
    *,
    options: list[str] | None = None,
    answer: str | float,
    unit: str = "",
    tolerance: float | None = None,
    preset: str | None = None,
    because: str,
    name: str,
) -> Prediction:
    """Ask before showing. With `options` the answer is the text of one of them, else a number."""
    if not NAME.fullmatch(name):
        raise ValueError(f'name must read "lesson_topic/short-name", got {name!r}.')
    if preset is not None and preset not in explorable.presets:
        there = ", ".join(explorable.presets) or "none"
        raise ValueError(f"{type(explorable).__name__} has no preset {preset!r}. It has: {there}.")
    asked = Asked(question, options, answer, unit, tolerance, because)
    prediction = Prediction(asked, explorable, preset=preset, name=name)
    if runtime.switched_on("COURSE_OPEN"):
        prediction.open()
    return prediction


@dataclass(frozen=True)
class Asked:
    """What is asked and what is true, checked when it is made."""

    question: str
    options: list[str] | None
    answer: str | float
    unit: str
    tolerance: float | None
    because: str

    def __post_init__(self) -> None:
        if self.options is None:
            self._check_number()
        else:
            self._check_options()

    def _check_number(self) -> None:
        if not _is_number(self.answer):
            raise ValueError(f"Without options the answer must be a number, got {self.answer!r}.")
        if not _is_number(self.tolerance) or self.tolerance < 0:
            raise ValueError(f"A number needs a tolerance, such as tolerance=0.05; got {self.tolerance!r}.")

    def _check_options(self) -> None:
        if not 2 <= len(self.options) <= len(LETTERS) or len(set(self.options)) < len(self.options):
            raise ValueError(f"Expected 2 to {len(LETTERS)} different options, got {self.options!r}.")
        if self.answer not in self.options:
            raise ValueError(f"The answer {self.answer!r} is not among the options {self.options!r}.")
        if self.tolerance is not None or self.unit:
            raise ValueError("tolerance and unit belong to a number; leave them out where there are options.")

    def sent(self, guess: str | float) -> int | float:
        """A guess as the page knows it: an option's place, or a number."""
        if self.options is None:
            if not _is_number(guess):
                raise ValueError(f"This prediction wants a number, got {guess!r}.")
            return guess
        if guess not in self.options:
            raise ValueError(f"This prediction wants one of {self.options!r}, got {guess!r}.")
        return self.options.index(guess)

    def received(self, sent: int | float) -> str | float:
        """The other way round."""
        return sent if self.options is None else self.options[sent]

    def is_right(self, guess: str | float) -> bool:
        return guess == self.answer if self.options else within(guess, self.answer, self.tolerance)

    @property
    def payload(self) -> dict[str, Any]:
        """What the page needs, with all texts as safe HTML."""
        question: dict[str, Any] = {"id": "guess", "text": inline_html(self.question)}
        if self.options is None:
            question |= {"kind": "number", "unit": inline_html(self.unit), "tolerance": self.tolerance}
        else:
            listed = [
                {"place": place, "letter": LETTERS[place], "text": inline_html(option)}
                for place, option in enumerate(self.options)
            ]
            question |= {"kind": "single", "options": listed}
        return {"question": question, "truth": self.sent(self.answer), "because": inline_html(self.because)}

    def __str__(self) -> str:
        options = [f"  {LETTERS[place]}  {option}" for place, option in enumerate(self.options or ())]
        return "\n".join([f"Predict first: {self.question}", *options])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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

    def __init__(self, asked: Asked, explorable: Explorable, *, preset: str | None, name: str):
        self.name = name
        self.guess: str | float | None = None
        self.opened = False
        self._asked = asked
        self._explorable = explorable
        self._preset = preset
        self._alt = explorable.describe(explorable.facts)  # of the start, whatever is opened later
        self._still = explorable.still()
        self._card = GuessCard(payload={**asked.payload, "cover": explorable.title})
        self.view = ipywidgets.VBox([self._card])  # the explorable's own view joins when it is opened
        self._card.observe(self._committed, names="guess")
        self._card.observe(self._uncovered, names="opened")

    def commit(self, guess: str | float) -> bool:
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
        event = {"kind": "prediction", "lesson": self.name.split("/")[0], "name": self.name}
        progress.record({**event, "guess": self.guess, "correct": self.correct})
        self.open()

    def _uncovered(self, change: dict[str, Any]) -> None:
        if self.opened:
            return
        self.opened = True
        if self._preset is not None:
            self._explorable.preset(self._preset)
        self.view.children = [self._card, self._explorable.view]

    def __repr__(self) -> str:
        return f"Prediction({self.name!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width, height = struct.unpack(">II", self._still[16:24])  # where a PNG keeps its size
        data, metadata = still.bundle(self._still, alt=self._alt, width=width // 2, height=height // 2)
        text = f"{self._asked}\nThen look: {self._alt}"
        return {**data, **self.view._repr_mimebundle_(), "text/plain": text}, metadata
