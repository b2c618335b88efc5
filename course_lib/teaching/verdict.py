"""What a check says about an attempt.

    >>> print(Verdict("double_it", "not tried", "Write your answer, then run both cells."))
    ○ Not tried yet · double_it
    Write your answer, then run both cells.

A verdict holds no time, address or id: the same attempt gives the same verdict, byte for byte. Here too are
the verdicts on what gives no answer: it is no function, other parameters, an exception, no end.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from course_lib import theme
from course_lib.teaching.calling import CallResult
from course_lib.teaching.card import MUTED, card, folded, prose, side_by_side
from course_lib.teaching.learners_code import ends_the_session
from course_lib.teaching.lessons import misconceptions

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
EXIT = "It calls `exit`, which ends the whole session."
LEAVE = "Use `return` to leave a function."
INSIDE = "`check` stands inside the function that it checks: give it a cell of its own."


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


# ---- no answer


def misuse(name: str, inputs: Iterable[str], attempt: Any) -> Verdict | None:
    """Whether this can be called at all with the exercise's inputs."""
    if not callable(attempt):
        usage = f'Hand over the function itself, without brackets: `check("{name}", {name})`.'
        return wrong(f"This is not a function but a {type(attempt).__name__}.", usage, "not-a-function")
    if ends_the_session(attempt):
        return wrong(EXIT, LEAVE, "exit")
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # some built-in functions have none: calling will tell
        return None
    wanted, names = list(inputs), list(signature.parameters)
    details = f"Wanted: `{name}({', '.join(wanted)})`. Yours takes `{signature}`."
    if names != wanted and sorted(names) == sorted(wanted):
        return wrong("The parameters are in another order.", details, "parameters")
    try:
        signature.bind(*wanted)
    except TypeError:
        return wrong(f"It cannot be called with {listed(wanted)}.", details, "parameters")
    return None


def mishap(result: CallResult, seconds: float, call_text: str) -> Verdict | None:
    """What kept a call from giving an answer."""
    fault = result.fault
    if result.took_too_long:
        where = f"It was at {fault.place}." if fault and fault.place else ""
        details = paragraphs(where, "Is there a loop that never ends?")
        return wrong(f"It was stopped after {seconds:g} seconds.", details, "too-slow")
    if fault is None:
        return None
    if result.returned:
        return wrong("What it returned cannot be read as numbers.", fault.words, "unreadable")
    if fault.is_stub:
        still = f"Still there: {fault.place}" if fault.place else ""
        return Verdict("", "not tried", "Write your answer, run its cell, then run this one again.", still)
    if fault.kind == "SystemExit":
        return wrong(EXIT, paragraphs(fault.words, LEAVE), "exit")
    if fault.kind == "CheckInside":
        return wrong(INSIDE, "", "check-inside")
    return wrong(f"It stopped with a `{fault.kind}`.", paragraphs(fault.words, call_text), "raises")
