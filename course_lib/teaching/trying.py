"""Try a learner's function on every case of an exercise, and gather its answers.

What keeps an answer from coming is a verdict: no function, other parameters, an exception, no end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from course_lib.formatting import shape_text
from course_lib.teaching.answer import Answer, Remark, listed, read
from course_lib.teaching.calling import Outcome, call
from course_lib.teaching.exercise import Case, Exercise
from course_lib.teaching.learners_code import ends_the_session
from course_lib.teaching.verdict import Verdict, wrong

EXIT = "It calls `exit`, which ends the whole session."
STUB = Verdict("", "not tried", "Write your answer, run its cell, then run this one again.")


@dataclass(frozen=True, eq=False)
class Trial:
    """One case and the learner's answer to it."""

    exercise: Exercise
    case: Case
    answer: Answer

    @property
    def pairs(self) -> list[tuple[str, Tensor, Tensor]]:
        """Each output: its name, what was expected, what came."""
        return list(zip(self.exercise.returns, self.case.expected, self.answer.outputs, strict=True))

    @property
    def inputs(self) -> dict[str, Tensor]:
        return dict(zip(self.exercise.inputs, self.case.inputs, strict=True))

    @property
    def call(self) -> str:
        """The shapes of a call's inputs: The call was with `query` (4,), `keys` (5, 4)."""
        return call_text(self.exercise, self.case)


def call_text(exercise: Exercise, case: Case) -> str:
    shapes = [f"`{name}` {shape_text(t.shape)}" for name, t in zip(exercise.inputs, case.inputs, strict=True)]
    return f"The call was with {', '.join(shapes)}{', all large numbers' if case.large else ''}."


def misuse(name: str, inputs: Iterable[str], attempt: Any) -> Verdict | None:
    """Whether this can be called at all with the exercise's inputs."""
    if not callable(attempt):
        usage = f'Hand over the function itself, without brackets: `check("{name}", {name})`.'
        return wrong(f"This is not a function but a {type(attempt).__name__}.", usage, "not-a-function")
    if ends_the_session(attempt):
        return wrong(EXIT, "Use `return` to leave a function.", "exit")
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


def tried(exercise: Exercise, attempt: Callable, until: float) -> tuple[list[Trial] | Verdict, str]:
    """The trials, one for each case, or the first mishap; and what was printed."""
    trials: list[Trial] = []
    printed: list[str] = []
    cases = exercise.cases()
    types = {name: t.dtype for name, t in zip(exercise.returns, cases[1].expected, strict=True)}
    for number, case in enumerate(cases, start=1):
        outcome = call(attempt, case.inputs, until, lambda value, given: read(value, types))
        if outcome.printed and number <= 3:
            printed.append(f"call {number}:\n{outcome.printed}")
        answer = mishap(outcome, exercise.seconds, call_text(exercise, case)) or outcome.answer
        if isinstance(answer, Verdict):
            return answer, "\n".join(printed)
        trials.append(Trial(exercise, case, _with_changes(exercise, answer, outcome)))
    return trials, "\n".join(printed)


def mishap(outcome: Outcome, seconds: float, call_text: str) -> Verdict | None:
    """What kept a call from giving an answer."""
    fault = outcome.fault
    if outcome.took_too_long:
        where = f"It was at {fault.place}.\n\n" if fault and fault.place else ""
        headline = f"It was stopped after {seconds:g} seconds."
        return wrong(headline, f"{where}Is there a loop that never ends?", "too-slow")
    if fault is None:
        return None
    if outcome.returned:
        return wrong("What it returned cannot be read as numbers.", fault.story, "unreadable")
    if fault.is_stub:
        return replace(STUB, details=f"Still there: {fault.place}" if fault.place else "")
    if fault.kind == "SystemExit":
        return wrong(EXIT, f"{fault.words}\n\nUse `return` to leave a function.", "exit")
    if fault.kind == "CheckInside":
        return wrong(
            "`check` stands inside the function that it checks: give it a cell of its own.",
            "",
            "check-inside",
        )
    return wrong(f"It stopped with a `{fault.kind}`.", f"{fault.words}\n\n{call_text}", "raises")


def _with_changes(exercise: Exercise, answer: Answer, outcome: Outcome) -> Answer:
    if not outcome.changed:
        return answer
    changed = listed([list(exercise.inputs)[i] for i in outcome.changed])
    message = (
        f"It changed its input {changed} in place, and whoever called it may still need that. Make a new "
        "tensor: `y = x * 2`, not `x *= 2`, and no functions whose name ends in `_`."
    )
    return replace(answer, remarks=(*answer.remarks, Remark("in-place", message)))
