"""The result of a check, as the learner sees it.

    >>> print(Verdict("exact_match", "not tried", "Write your answer, then run both cells."))
    ○ Not tried yet · exact_match
    Write your answer, then run both cells.

A verdict contains no time, address or id: the same attempt gives the same verdict, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from course_lib import theme
from course_lib.teaching.contents import misconceptions
from course_lib.teaching.display import MUTED, card, fold, prose, side_by_side

# "unfinished" if all that a file contains so far is right, "not judged" if the session is at fault
Status = Literal["passed", "not tried", "unfinished", "wrong", "not judged"]


STYLES: dict[Status, tuple[str, str, str]] = {  # icon, word, colour
    "passed": ("✓", "Passed", theme.GREEN),
    "not tried": ("○", "Not tried yet", theme.BLUE),
    "unfinished": ("◔", "Right so far", theme.BLUE),
    "wrong": ("✗", "Not right yet", theme.ORANGE),
    "not judged": ("○", "Not judged", theme.BLUE),
}


@dataclass(frozen=True, repr=False)
class Verdict:
    """`headline` states the problem, `details` the likely slip and what to do about it.

    `given` shows the inputs of the call, `expected` and `got` the right answer and the learner's; if
    `measured`, they are not answers but something measured on them. `slip` is the id of the slip that was
    recognised, `misconception` the id of the misconception that explains it.
    """

    exercise: str
    status: Status
    headline: str
    details: str = ""
    slip: str | None = None
    misconception: str | None = None
    expected: str = ""
    got: str = ""
    given: str = ""
    printed: str = ""
    measured: bool = False

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """The inputs, the expected answer and the learner's, each with its title, if there are any."""
        titles = ("should measure", "yours measures") if self.measured else ("expected", "yours")
        titled_texts = [("inputs", self.given), (titles[0], self.expected), (titles[1], self.got)]
        return [(title, text) for title, text in titled_texts if text]

    def __repr__(self) -> str:
        icon, word, _ = STYLES[self.status]
        return join_paragraphs(
            f"{icon} {word} · {self.exercise}\n{self.headline}",
            self.details,
            "\n".join(f"{title}\n{_indent(text)}" for title, text in self.numbers),
            _describe_misconception(self.misconception) if self.misconception else "",
            "Your function printed:\n" + _indent(self.printed) if self.printed else "",
        )

    def _repr_html_(self) -> str:
        icon, word, colour = STYLES[self.status]
        body = prose(self.headline, "font-weight:600")
        if self.details:
            body += prose(self.details)
        n_inputs = 1 if self.given else 0  # above the answers, which are compared with each other
        for row in filter(None, (self.numbers[:n_inputs], self.numbers[n_inputs:])):
            body += side_by_side(row)
        if self.misconception:
            body += prose(_describe_misconception(self.misconception), f"font-size:14px;{MUTED}")
        if self.printed:
            body += fold("Your function printed", self.printed)
        return card(colour, icon, word, f"`{self.exercise}`", body)


def wrong_verdict(
    headline: str,
    details: str = "",
    slip: str | None = None,
    *,
    given: str = "",
    expected: str = "",
    got: str = "",
) -> Verdict:
    """A verdict of status "wrong"; `judge` adds the exercise's name."""
    return Verdict("", "wrong", headline, details, slip, given=given, expected=expected, got=got)


def join_paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def quote_names(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    return join_words([f"`{name}`" for name in names])


def join_words(words: Sequence[str]) -> str:
    """a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def name_some(names: Sequence[object], most: int = 3) -> str:
    """The first names in backticks, and how many more there are: `a`, `b`, `c` and 2 more."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return join_words([*(f"`{name}`" for name in names[:most]), *more])


def with_article(noun: str) -> str:
    """A noun, or a class in backticks, with its article.

    >>> with_article("list"), with_article("ndarray"), with_article("`IndexError`")
    ('a list', 'an ndarray', 'an `IndexError`')
    """
    starts_with_vowel = noun.strip("`").lower().startswith(("a", "e", "i", "o", "nd", "unb"))
    return f"{'an' if starts_with_vowel else 'a'} {noun}"


def _describe_misconception(misconception_id: str) -> str:
    misconception = misconceptions()[misconception_id]
    return f"A common misconception: “{misconception.belief}” In fact: {misconception.truth}"


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
