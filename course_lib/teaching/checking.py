"""`check`: judge a learner's function or file, record the result, and save the function if it passed.

In strict mode, for graders, an attempt that isn't passed raises an error.

>>> check("exact_match", lambda translations, references: 0.75).slip
'worked-example'
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.exercises.catalogue import exercise_topics, find_exercise
from course_lib.teaching.exercises.exercise import FileExercise
from course_lib.teaching.exercises.failures import INSIDE
from course_lib.teaching.exercises.guarded_call import CheckInside, is_inside_call
from course_lib.teaching.exercises.judging import judge
from course_lib.teaching.exercises.own_work import judge_own_work
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs
from course_lib.teaching.own_code.kept_functions import in_use, keep

RESTART = (
    "The check itself failed. Something that ran in this session may have changed torch, Python or the "
    "course: restart the kernel, run the cells that define your function, then this one."
)


class NotPassed(AssertionError):
    """Raised in strict mode; a notebook shows the verdict without a traceback."""

    def _render_traceback_(self) -> list[str]:
        lines = (textwrap.wrap(line, 100, drop_whitespace=False) for line in str(self).splitlines())
        return [part for parts in lines for part in parts or [""]]


def check(name: str, attempt: Callable | Path, *, own_work: bool = False) -> Verdict:
    """The verdict on a function or class, or on a file; a file stays where it is.

    With `own_work`, and always in strict mode, an attempt that uses the course's code, or a library function
    that does the exercise, isn't passed. With `own_work`, it may be one that can't be saved for later
    lessons.
    """
    if runtime.is_strict():
        runtime.user_folder()  # raises an error if it has another submission's work
    if is_inside_call():
        raise CheckInside(INSIDE)
    try:
        verdict, not_kept = _judge_and_record(name, attempt, own_work or runtime.is_strict())
    except Exception as error:  # in the course's own code
        if name in exercise_topics():
            error.add_note(RESTART)
        raise
    if runtime.is_strict() and (verdict.status != "passed" or (not_kept and not own_work)):
        raise NotPassed(str(verdict))
    return verdict


def _judge_and_record(name: str, attempt: Callable | Path, graded: bool) -> tuple[Verdict, str]:
    """The verdict, and why the function couldn't be saved."""
    exercise = find_exercise(name)
    with in_use(name):
        verdict = judge(exercise, attempt)
        if verdict.status == "passed":
            verdict = judge_own_work(exercise, attempt, verdict, graded=graded)
    if verdict.status in ("passed", "wrong"):
        event = {"kind": "exercise", "lesson": exercise.lesson, "name": name, "status": verdict.status}
        progress.record(event | ({"misconception": verdict.misconception} if verdict.misconception else {}))
    to_keep = verdict.status == "passed" and not isinstance(exercise, FileExercise)
    not_kept = keep(exercise, attempt) if to_keep else ""
    return replace(verdict, details=join_paragraphs(verdict.details, not_kept)), not_kept
