"""`check`: judge a learner's function, remember the result, and keep what passed.

>>> check("double_it", lambda numbers: numbers ** 2).slip
'squares'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.exercises.any_exercise import judge
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.teaching.exercises.guarded_call import CheckInside, inside_a_call
from course_lib.teaching.exercises.verdict import Verdict, paragraphs
from course_lib.teaching.own_code.own_functions import keep


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
        verdict = replace(verdict, details=paragraphs(verdict.details, keep(exercise, attempt)))
    elif runtime.switched_on("COURSE_STRICT"):
        raise AssertionError(str(verdict))
    return verdict
