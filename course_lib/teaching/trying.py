"""Try a learner's function on every case of an exercise, and gather its answers.

What keeps an answer from coming is a Problem: no function, other parameters, an exception, no end.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from course_lib.formatting import shape_text
from course_lib.teaching.answer import Answer, Problem, Remark, listed, read
from course_lib.teaching.calling import Outcome, call
from course_lib.teaching.exercise import Case, Exercise


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
    def wrong(self) -> list[int]:
        """Which outputs are not as expected."""
        return [
            i for i, (_, expected, got) in enumerate(self.pairs) if not self.exercise.agree(expected, got)
        ]

    @property
    def call(self) -> str:
        return call_text(self.exercise, self.case)


def call_text(exercise: Exercise, case: Case) -> str:
    """The shapes of a call's inputs: The call was with `query` (4,), `keys` (5, 4)."""
    shapes = [f"`{name}` {shape_text(t.shape)}" for name, t in zip(exercise.inputs, case.inputs, strict=True)]
    return f"The call was with {', '.join(shapes)}."


def misuse(exercise: Exercise, attempt: Any) -> Problem | None:
    """Whether this can be called at all with the exercise's inputs."""
    if not callable(attempt):
        usage = (
            f'Hand over the function itself, without brackets: `check("{exercise.name}", {exercise.name})`.'
        )
        return Problem("not-a-function", f"This is not a function but a {type(attempt).__name__}.", usage)
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # some built-in functions have none: calling will tell
        return None
    wanted, names = list(exercise.inputs), list(signature.parameters)
    details = f"Wanted: `{exercise.signature}`. Yours takes `{signature}`."
    if names != wanted and sorted(names) == sorted(wanted):
        return Problem("parameters", "The parameters are in another order.", details)
    try:
        signature.bind(*wanted)
    except TypeError:
        return Problem("parameters", f"It cannot be called with {listed(wanted)}.", details)
    return None


def tried(exercise: Exercise, attempt: Callable) -> tuple[list[Trial] | Problem, str]:
    """The trials (random cases, then the one worked by hand) or the first mishap; and what was printed."""
    trials: list[Trial] = []
    printed: list[str] = []
    end = time.monotonic() + exercise.seconds
    for number, case in enumerate([*exercise.random_cases(), exercise.worked_case()], start=1):
        outcome = call(attempt, case.inputs, seconds=end - time.monotonic())
        if outcome.printed:
            printed.append(f"call {number}:\n{outcome.printed}")
        answer = _mishap(exercise, case, outcome) or read(outcome.value, list(exercise.returns))
        if isinstance(answer, Problem):
            return answer, "\n".join(printed)
        trials.append(Trial(exercise, case, _with_changes(exercise, answer, outcome)))
    return trials, "\n".join(printed)


def _mishap(exercise: Exercise, case: Case, outcome: Outcome) -> Problem | None:
    fault, seconds = outcome.fault, f"{exercise.seconds:g} seconds"
    if outcome.still_running:
        return Problem(
            "still-running",
            f"It was not done after {seconds}, and it could not be stopped.",
            "It goes on in the background: if things get slow, choose Kernel → Restart Kernel. "
            "Is there a `sleep`, an `input()` or a very large tensor in it?",
        )
    if outcome.took_too_long:
        where = f"It was at {fault.place}.\n\n" if fault and fault.place else ""
        return Problem(
            "too-slow", f"It was stopped after {seconds}.", f"{where}Is there a loop that never ends?"
        )
    if fault is None:
        return None
    if fault.is_stub:
        return Problem(
            slip=None,
            headline="Write your answer, run its cell, then run this one again.",
            details=f"Still there: {fault.place}" if fault.place else "",
            not_tried=True,
        )
    if fault.kind == "SystemExit":
        details = f"{fault.words}\n\nUse `return` to leave a function."
        return Problem("exit", "It called `exit`, which ends the whole session.", details)
    return Problem(
        "raises", f"It stopped with a `{fault.kind}`.", f"{fault.words}\n\n{call_text(exercise, case)}"
    )


def _with_changes(exercise: Exercise, answer: Answer, outcome: Outcome) -> Answer:
    if not outcome.changed:
        return answer
    changed = listed([list(exercise.inputs)[i] for i in outcome.changed])
    message = (
        f"It changed its input {changed} in place, and whoever called it may still need that. Make a new "
        "tensor: `y = x * 2`, not `x *= 2`, and no functions whose name ends in `_`."
    )
    return replace(answer, remarks=(*answer.remarks, Remark("in-place", message)))
