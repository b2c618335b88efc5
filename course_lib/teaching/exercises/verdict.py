"""What a check says about an attempt.

    >>> print(Verdict("double_it", "not tried", "Write your answer, then run both cells."))
    ○ Not tried yet · double_it
    Write your answer, then run both cells.

A verdict holds no time, address or id: the same attempt gives the same verdict, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from course_lib import theme
from course_lib.teaching.contents import misconceptions
from course_lib.teaching.display import MUTED, card, folded, prose, side_by_side

Status = Literal["passed", "not tried", "wrong"]


class Look(NamedTuple):
    icon: str
    word: str
    colour: str


LOOKS: dict[Status, Look] = {
    "passed": Look("✓", "Passed", theme.GREEN),
    "not tried": Look("○", "Not tried yet", theme.BLUE),
    "wrong": Look("✗", "Not right yet", theme.ORANGE),
}


@dataclass(frozen=True, repr=False)
class Verdict:
    """`headline` says what is so, `details` the likely slip and what to do, `expected` and `got` the rest."""

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

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """What went in, what should have come out, and what did: each with its title, where there is any."""
        titled = [("given", self.given), ("expected", self.expected), ("yours", self.got)]
        return [(title, text) for title, text in titled if text]

    def __repr__(self) -> str:
        look = LOOKS[self.status]
        return paragraphs(
            f"{look.icon} {look.word} · {self.exercise}\n{self.headline}",
            self.details,
            "\n".join(f"{title}\n{_indented(text)}" for title, text in self.numbers),
            _known(self.misconception) if self.misconception else "",
            "Your function printed:\n" + _indented(self.printed) if self.printed else "",
        )

    def _repr_html_(self) -> str:
        look = LOOKS[self.status]
        body = prose(self.headline, "font-weight:600")
        if self.details:
            body += prose(self.details)
        if self.numbers:
            body += side_by_side(self.numbers)
        if self.misconception:
            body += prose(_known(self.misconception), f"font-size:12px;{MUTED}")
        if self.printed:
            body += folded("Your function printed", self.printed)
        return card(look.colour, look.icon, look.word, f"`{self.exercise}`", body)


def wrong(headline: str, details: str = "", slip: str | None = None) -> Verdict:
    """Something is wrong; `judge` puts in which exercise it is."""
    return Verdict("", "wrong", headline, details, slip)


def paragraphs(*texts: str) -> str:
    """Those that say something, parted by empty lines."""
    return "\n\n".join(filter(None, texts))


def listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    return joined([f"`{name}`" for name in names])


def joined(texts: Sequence[str]) -> str:
    """a, b and c."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _known(misconception: str) -> str:
    """In words; the id is for the list of misconceptions and for progress."""
    known = misconceptions()[misconception]
    return f"A common belief behind this: “{known.belief}” In truth: {known.truth}"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
