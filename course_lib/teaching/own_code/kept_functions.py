"""The learner's own functions: kept when they pass their check, and used by later lessons.

    >>> attend = yours("scaled_attention")
    scaled_attention: the library's (yours is not there yet)

`yours` prints one line about which function it returns. Whatever the file contains, a lesson goes on: if
needed, the library's version is used, and the line says why.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from course_lib.teaching.contents import lesson
from course_lib.teaching.exercises.catalogue import find_exercise
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.guarded_call import is_inside_call
from course_lib.teaching.exercises.judging import judge
from course_lib.teaching.own_code.kept_file import FILE_ERRORS, KeptFunction, read_kept_file, write_function
from course_lib.teaching.own_code.loading import load_function
from course_lib.teaching.own_code.source import NotKept, gather_source

Choice = tuple[Callable | None, str]  # the learner's function, if it can be used, and the line to print
_choices: dict[tuple[str, str], Choice] = {}  # by exercise and source: a block is judged once per session


def keep(exercise: Exercise, attempt: Any) -> str:
    """Write a function that passed into the file; returns a sentence if that fails.

    It is kept only if it also passes when loaded from there: a function that needs more of the notebook than
    its imports and helpers would be of no use to a later lesson.
    """
    try:
        source = gather_source(exercise.name, attempt)
        function, reason = load_function(exercise.name, source)
        if function is None or judge(exercise, function).status != "passed":
            raise NotKept(reason or "away from this notebook it does not pass")
        number, day = lesson(exercise.lesson).number, date.today().isoformat()
        write_function(KeptFunction(exercise.name, number, day, source))
    except NotKept as error:
        return f"It is not kept for later lessons: {error}."
    except FILE_ERRORS:
        return "It is not kept for later lessons: `my_road.py` cannot be written."
    except Exception:  # the learner's objects may raise anything when they are inspected
        return "It is not kept for later lessons: its source cannot be gathered."
    return ""


def yours(name: str) -> Callable:
    """The function that solves the exercise called `name`: the learner's, or else the library's."""
    exercise = find_exercise(name)
    function, source_text = _choose(exercise)
    if not is_inside_call():  # during a check, it would be printed for every case
        print(f"{name}: {source_text}")
    return function or exercise.library or exercise.reference


def _choose(exercise: Exercise) -> Choice:
    try:
        _, functions = read_kept_file()
    except FILE_ERRORS:
        return None, "the library's (your my_road.py cannot be read)"
    block = next((function for function in functions if function.name == exercise.name), None)
    if block is None:
        return None, "the library's (yours is not there yet)"
    key = exercise.name, block.source
    if key not in _choices:
        _choices[key] = None, "the library's (yours calls itself)"  # if it asks for itself while it is judged
        _choices[key] = _load_and_judge(exercise, block)
    return _choices[key]


def _load_and_judge(exercise: Exercise, block: KeptFunction) -> Choice:
    function, reason = load_function(block.name, block.source)
    if function is None:
        return None, f"the library's (yours cannot be used: {reason})"
    if judge(exercise, function).status != "passed":
        return None, "the library's (yours does not pass its check any more)"
    return function, f"yours, from lesson {block.lesson}"
