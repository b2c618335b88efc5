"""The learner's own functions: saved when they pass their check, and used by later lessons.

    >>> attend = yours("scaled_attention")
    scaled_attention: the library's version (you haven't passed this exercise yet)

`yours` prints which function it returns. Whatever the file contains, a lesson can continue: if necessary it
gets the library's version, and the printed line says why. Only a function that asks `yours` for itself gets
an error, because it would never end, or return what the library computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import wraps
from typing import Any

from course_lib.teaching.contents import SHORT, lesson
from course_lib.teaching.exercises.catalogue import find_exercise
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.guarded_call import is_inside_call
from course_lib.teaching.exercises.judging import judge
from course_lib.teaching.own_code.kept_file import (
    HEADER,
    KeptFileError,
    KeptFunction,
    read_kept_file,
    write_function,
)
from course_lib.teaching.own_code.loading import load_function
from course_lib.teaching.own_code.source import NotKept, gather_source
from course_lib.teaching.track import notebook_track

NOT_SAVED = "Later lessons will use the library's version, because yours couldn't be saved:"
CHANGED_SESSION = "this session has changed torch or NumPy, so it can't be judged: restart the kernel"
Choice = tuple[Callable | None, str]  # the learner's function, if it can be used, and the line to print
_choices: dict[tuple[str, str], Choice] = {}  # by exercise and source: a block is judged once per session
_in_use: ContextVar[dict[str, list[str]] | None] = ContextVar("in_use", default=None)


def keep(exercise: Exercise, attempt: Any) -> str:
    """Save a function that passed; returns a sentence that explains why if that fails.

    It is saved only if it also passes when loaded from the file: a function that needs more of the notebook
    than its imports and helpers would be useless to a later lesson.
    """
    try:
        source = gather_source(exercise.name, attempt)
        if HEADER.search(f"{source}\n"):
            raise NotKept("it has a line like those that separate the functions in `my_road.py`; reword it")
        function, reason = _load_and_judge(exercise, source)
        if function is None:
            raise NotKept(reason or "it doesn't pass its check outside this notebook")
        number, day = lesson(exercise.lesson).number, date.today().isoformat()
        write_function(KeptFunction(exercise.name, number, day, source))
        _choices.clear()  # functions that use this one get the new version
    except (NotKept, KeptFileError) as error:
        return f"{NOT_SAVED} {error}."
    except Exception:  # the learner's objects may raise anything when they are inspected
        return f"{NOT_SAVED} its source code can't be collected."
    return ""


def yours(name: str) -> Callable:
    """The function that solves the exercise called `name`: the learner's, or else the library's."""
    exercise = find_exercise(name)
    _refuse_if_in_use(name)
    function, source_text = choose(exercise)
    if not is_inside_call():  # during a check, it would be printed for every case
        print(f"{name}: {source_text}")
    return function or exercise.library or exercise.reference


def choose(exercise: Exercise) -> Choice:
    """The learner's function for an exercise, or None, and the line that says which one is used."""
    try:
        _, functions = read_kept_file()
    except KeptFileError as error:
        return None, f"the library's version ({error})"
    block = next((function for function in functions if function.name == exercise.name), None)
    if block is None:
        on_track = notebook_track() != SHORT or lesson(exercise.lesson).exercises.get(exercise.name) == SHORT
        why = "you haven't passed this exercise yet" if on_track else "its exercise is in the full lesson"
        return None, f"the library's version ({why})"
    key = exercise.name, block.source
    if key not in _choices:
        function, reason = _load_and_judge(exercise, block.source)
        _refuse_if_in_use(exercise.name)  # it may have asked for the function that asks for it
        if function:
            line = f"your version from lesson {block.lesson}"
        else:
            problem = f"can't be used: {reason}" if reason else "no longer passes its check"
            line = f"the library's version (yours {problem})"
        _choices[key] = function, line
    return _choices[key]


def _load_and_judge(exercise: Exercise, source: str) -> tuple[Callable | None, str]:
    """The function that the source defines, if it passes; else None and the reason, if it can't be used."""
    with in_use(exercise.name) as refusals:
        function, reason = load_function(exercise.name, source)
        status = judge(exercise, function).status if function else ""
    if status != "passed":
        changed = CHANGED_SESSION if status == "not judged" else ""
        return None, refusals[0] if refusals else reason or changed
    if isinstance(function, type):  # and not a function; its check has shown that it does not ask for itself
        return function, ""

    @wraps(function)
    def own_function(*inputs: Any, **named: Any) -> Any:
        with in_use(exercise.name):
            return function(*inputs, **named)

    return own_function, ""


# ---- functions that ask for themselves


@contextmanager
def in_use(name: str) -> Iterator[list[str]]:
    """While the learner's function for an exercise is loaded, judged or called, `yours` refuses to return it.

    `with` gives a list: the reason is added to it if the function asked for itself, perhaps through others.
    """
    refusals: list[str] = []
    token = _in_use.set({**(_in_use.get() or {}), name: refusals})
    try:
        yield refusals
    finally:
        _in_use.reset(token)


def _refuse_if_in_use(name: str) -> None:
    """Raise an error if this function, or one that asks for it, has asked for itself."""
    asking = _in_use.get() or {}
    if name in asking:
        names = [*asking, name]
        path = " → ".join(names[names.index(name) :])
        asking[name].append(f"`{name}` asks `yours` for itself ({path})")
    for refusals in asking.values():
        if refusals:
            raise RecursionError(f"{refusals[0]}. Write out the computation instead of calling `yours`.")
