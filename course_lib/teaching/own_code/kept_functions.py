"""The learner's own functions: saved when they pass their check, and used by later lessons.

    >>> attend = yours("scaled_attention")
    scaled_attention: the library's version (you haven't passed this exercise yet)

`yours` prints which function it returns. Whatever the file contains, a lesson can continue: if necessary it
gets the library's version, and the printed line says why.
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

NOT_SAVED = "Later lessons will use the library's version, because yours couldn't be saved:"
Choice = tuple[Callable | None, str]  # the learner's function, if it can be used, and the line to print
_choices: dict[tuple[str, str], Choice] = {}  # by exercise and source: a block is judged once per session


def keep(exercise: Exercise, attempt: Any) -> str:
    """Save a function that passed; returns a sentence that explains why if that fails.

    It is saved only if it also passes when loaded from the file: a function that needs more of the notebook
    than its imports and helpers would be useless to a later lesson.
    """
    try:
        source = gather_source(exercise.name, attempt)
        function, reason = load_function(exercise.name, source)
        if function is None or judge(exercise, function).status != "passed":
            raise NotKept(reason or "it doesn't pass its check outside this notebook")
        number, day = lesson(exercise.lesson).number, date.today().isoformat()
        write_function(KeptFunction(exercise.name, number, day, source))
    except NotKept as error:
        return f"{NOT_SAVED} {error}."
    except FILE_ERRORS:
        return f"{NOT_SAVED} `my_road.py` can't be written."
    except Exception:  # the learner's objects may raise anything when they are inspected
        return f"{NOT_SAVED} its source code can't be collected."
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
        return None, "the library's version (your my_road.py can't be read)"
    block = next((function for function in functions if function.name == exercise.name), None)
    if block is None:
        return None, "the library's version (you haven't passed this exercise yet)"
    key = exercise.name, block.source
    if key not in _choices:
        _choices[key] = (
            None,
            "the library's version (yours calls `yours` for itself)",
        )  # if it asks for itself while it is judged
        _choices[key] = _load_and_judge(exercise, block)
    return _choices[key]


def _load_and_judge(exercise: Exercise, block: KeptFunction) -> Choice:
    function, reason = load_function(block.name, block.source)
    if function is None:
        return None, f"the library's version (yours can't be used: {reason})"
    if judge(exercise, function).status != "passed":
        return None, "the library's version (yours no longer passes its check)"
    return function, f"your version from lesson {block.lesson}"
