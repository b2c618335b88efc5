"""What is asked before an explorable opens, and what is true.

    >>> asked = Asked("largest", "The largest weight?", answer=0.96, tolerance=0.05, because="It spreads.")
    >>> asked.is_right(0.93)
    True

A guess is the text of an option, or a number where there are none. The page knows an option by its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from course_lib.teaching.maths import inline_html
from course_lib.teaching.quiz_rules import LETTERS, within

Guess = str | float


@dataclass(frozen=True)
class Asked:
    """`preset` is the explorable's preset that shows the truth, `because` says why it is so."""

    id: str
    text: str
    answer: Guess
    because: str
    options: tuple[str, ...] = ()
    tolerance: float = 0.0
    unit: str = ""
    preset: str | None = None

    def is_right(self, guess: Guess) -> bool:
        return guess == self.answer if self.options else within(guess, self.answer, self.tolerance)

    def sent(self, guess: Guess) -> int | float:
        """A guess as the page knows it."""
        if not self.options:
            if not isinstance(guess, int | float) or isinstance(guess, bool) or not math.isfinite(guess):
                raise ValueError(f"This prediction wants a number, got {guess!r}.")
            return guess
        if guess not in self.options:
            raise ValueError(f"This prediction wants one of {list(self.options)!r}, got {guess!r}.")
        return self.options.index(guess)

    def received(self, sent: int | float) -> Guess:
        """The other way round."""
        return self.options[sent] if self.options else sent

    @property
    def payload(self) -> dict[str, Any]:
        """What the page needs, with all texts as safe HTML."""
        question: dict[str, Any] = {"id": self.id, "text": inline_html(self.text)}
        if self.options:
            listed = [
                {"place": place, "letter": LETTERS[place], "text": inline_html(option)}
                for place, option in enumerate(self.options)
            ]
            question |= {"kind": "single", "options": listed}
        else:
            question |= {"kind": "number", "unit": inline_html(self.unit), "tolerance": self.tolerance}
        return {"question": question, "truth": self.sent(self.answer), "because": inline_html(self.because)}

    def __str__(self) -> str:
        options = [f"  {LETTERS[place]}  {option}" for place, option in enumerate(self.options)]
        return "\n".join([f"Predict first: {self.text}", *options])
