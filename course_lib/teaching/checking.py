"""`check`: try a learner's function and say what is so.

    >>> check("double_it", lambda numbers: numbers ** 2).slip
    'squares'

Can it be called (`verdict`), what comes out, and why it is wrong (`task`, and each kind of exercise). What
passes is kept for later lessons (`yours`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from course_lib import runtime
from course_lib.teaching import keeping, progress
from course_lib.teaching.calling import inside_a_call
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.task import Task
from course_lib.teaching.verdict import Verdict, misuse, paragraphs


class CheckInside(RuntimeError):
    """`check` was called by the function that it was checking."""


def check(name: str, attempt: Callable) -> Verdict:
    """Judge an attempt at the exercise called `name`, remember the result, and keep what passed."""
    if inside_a_call():
        raise CheckInside("`check` is called inside the function that it checks.")
    exercise = exercise_called(name)
    verdict = judge(exercise, attempt)
    if verdict.status != "not tried":
        event = {"kind": "exercise", "lesson": exercise.lesson, "name": name, "status": verdict.status}
        progress.record(event | ({"misconception": verdict.misconception} if verdict.misconception else {}))
    if verdict.status == "passed":
        note = keeping.keep(exercise, attempt, passes=lambda kept: judge(exercise, kept).status == "passed")
        verdict = replace(verdict, details=paragraphs(verdict.details, note))
    elif runtime.switched_on("COURSE_STRICT"):
        raise AssertionError(str(verdict))
    return verdict


def exercise_called(name: str) -> Task:
    """The exercise, or an error that helps with the name."""
    if name in EXERCISES:
        return EXERCISES[name]
    near = difflib.get_close_matches(name, EXERCISES, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(EXERCISES)}."
    raise ValueError(f"No exercise is called {name!r}. {advice}")


def judge(exercise: Task, attempt: Any) -> Verdict:
    """The verdict alone: nothing is recorded and nothing kept."""
    verdict = misuse(exercise.name, exercise.inputs, attempt) or exercise.judged(attempt)
    return replace(verdict, exercise=exercise.name)
