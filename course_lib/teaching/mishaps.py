"""What keeps a learner's function from an answer: it is none, other parameters, an exception, no end."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from course_lib.teaching.answer import listed
from course_lib.teaching.calling import Outcome
from course_lib.teaching.learners_code import ends_the_session
from course_lib.teaching.verdict import Verdict, paragraphs, wrong

EXIT = "It calls `exit`, which ends the whole session."
LEAVE = "Use `return` to leave a function."
STUB = Verdict("", "not tried", "Write your answer, run its cell, then run this one again.")
INSIDE = "`check` stands inside the function that it checks: give it a cell of its own."


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


def mishap(outcome: Outcome, seconds: float, call_text: str) -> Verdict | None:
    """What kept a call from giving an answer."""
    fault = outcome.fault
    if outcome.took_too_long:
        where = f"It was at {fault.place}." if fault and fault.place else ""
        details = paragraphs(where, "Is there a loop that never ends?")
        return wrong(f"It was stopped after {seconds:g} seconds.", details, "too-slow")
    if fault is None:
        return None
    if outcome.returned:
        return wrong("What it returned cannot be read as numbers.", fault.story, "unreadable")
    if fault.is_stub:
        return replace(STUB, details=f"Still there: {fault.place}" if fault.place else "")
    if fault.kind == "SystemExit":
        return wrong(EXIT, paragraphs(fault.words, LEAVE), "exit")
    if fault.kind == "CheckInside":
        return wrong(INSIDE, "", "check-inside")
    return wrong(f"It stopped with a `{fault.kind}`.", paragraphs(fault.words, call_text), "raises")
