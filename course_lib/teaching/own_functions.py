"""`yours`: the learner's own function where it passed its check, else the library's.

    >>> attend = yours("scaled_attention")
    scaled_attention: the library's (yours is not there yet)

It says in one line which it is. Nothing that stands in the learner's file, or is missing from it, stops a
lesson: the library's version is used, and the line says why.
"""

from __future__ import annotations

from collections.abc import Callable

from course_lib.teaching import keeping
from course_lib.teaching.calling import inside_a_call
from course_lib.teaching.checking import exercise_called, judge
from course_lib.teaching.task import Task

_judged: dict[tuple[str, str], tuple[Callable | None, str]] = {}  # a block is checked once a session


def yours(name: str) -> Callable:
    """The function that solves the exercise called `name`: the learner's, or else the library's."""
    exercise = exercise_called(name)
    function, whose = _own(exercise)
    if not inside_a_call():  # a function under check that calls it would say so once a case
        print(f"{name}: {whose}")
    return function or exercise.library or exercise.reference


def _own(exercise: Task) -> tuple[Callable | None, str]:
    try:
        kept = next((kept for kept in keeping.blocks()[1] if kept.name == exercise.name), None)
    except keeping.TROUBLE:
        return None, "the library's (your my_road.py cannot be read)"
    if kept is None:
        return None, "the library's (yours is not there yet)"
    key = exercise.name, kept.source
    if key not in _judged:
        _judged[key] = None, "the library's (yours calls itself)"  # the answer to itself, while it is tried
        _judged[key] = _tried(exercise, kept)
    return _judged[key]


def _tried(exercise: Task, kept: keeping.Kept) -> tuple[Callable | None, str]:
    function, reason = keeping.load(kept.name, kept.source)
    if function is None:
        return None, f"the library's (yours cannot be used: {reason})"
    if judge(exercise, function).status != "passed":
        return None, "the library's (yours does not pass its check any more)"
    return function, f"yours, from lesson {kept.lesson}"
