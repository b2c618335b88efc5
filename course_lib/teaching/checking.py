"""`check`: try a learner's function and say what is so.

    >>> check("double_it", lambda numbers: numbers ** 2).slip
    'squares'

Can it be called (`trying`), what is wrong with what comes out (`stages`), and why (`reasons`). Exercises over
ordinary Python things (`plain_exercise`) and to write a test (`written_test`) go their own ways. What passes
is kept for later lessons (`yours`).
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from course_lib import runtime
from course_lib.teaching import keeping, progress
from course_lib.teaching.answer import Remark
from course_lib.teaching.calling import inside_a_call
from course_lib.teaching.exercise import Exercise
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.learners_code import uncompiled
from course_lib.teaching.plain_exercise import PlainExercise, judge_plain
from course_lib.teaching.reasons import explained, left_over
from course_lib.teaching.stages import wrong_gradients, wrong_numbers
from course_lib.teaching.trying import misuse, tried
from course_lib.teaching.verdict import Verdict, wrong
from course_lib.teaching.written_test import TestExercise, judge_test

AnyExercise = Exercise | PlainExercise | TestExercise


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
        verdict = replace(verdict, details="\n\n".join(filter(None, [verdict.details, note])))
    elif runtime.switched_on("COURSE_STRICT"):
        raise AssertionError(str(verdict))
    return verdict


def exercise_called(name: str) -> AnyExercise:
    """The exercise, or an error that helps with the name."""
    if name in EXERCISES:
        return EXERCISES[name]
    near = difflib.get_close_matches(name, EXERCISES, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(EXERCISES)}."
    raise ValueError(f"No exercise is called {name!r}. {advice}")


def judge(exercise: AnyExercise, attempt: Any) -> Verdict:
    """The verdict alone: nothing is recorded and nothing kept."""
    attempt, printed = uncompiled(attempt), ""
    verdict = misuse(exercise.name, exercise.inputs, attempt)
    if verdict is None:
        judges = {Exercise: _judge_function, PlainExercise: judge_plain, TestExercise: judge_test}
        verdict, printed = judges[type(exercise)](exercise, attempt)
    return replace(verdict, exercise=exercise.name, printed=printed)


def _judge_function(exercise: Exercise, attempt: Callable) -> tuple[Verdict, str]:
    until = time.monotonic() + exercise.seconds
    trials, printed = tried(exercise, attempt, until)
    if isinstance(trials, Verdict):
        return trials, printed
    remarks = list(dict.fromkeys(remark for trial in trials for remark in trial.answer.remarks))
    leftover = left_over(attempt)
    if problem := wrong_numbers(trials):
        found = explained(problem, trials, attempt)
        if leftover and found == problem:
            found = replace(found, slip="left-over")
        besides = [leftover, *(f"Besides: {remark.message}" for remark in remarks)]
        slip = found.slip or (remarks[0].slip if remarks else None)
        details = "\n\n".join(filter(None, [found.details, *besides]))
        return replace(found, slip=slip, details=details), printed
    if problem := _only(remarks) or (exercise.trains and wrong_gradients(exercise, attempt, until)):
        return problem, printed
    headline = f"Right on the case worked by hand, and the same as the reference on {len(trials) - 1} others."
    return Verdict(exercise.name, "passed", headline, leftover), printed


def _only(remarks: list[Remark]) -> Verdict | None:
    if not remarks:
        return None
    details = "\n\n".join(remark.message for remark in remarks)
    return wrong("The numbers are right; one thing is left to put right.", details, remarks[0].slip)
