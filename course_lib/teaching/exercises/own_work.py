"""Whether an attempt is the learner's own work, or gets its answer from the course's code.

    >>> from course_lib.layers.positions import sinusoids
    >>> from course_lib.teaching.exercises.catalogue import find_exercise
    >>> find_course_code(find_exercise("sinusoids"), sinusoids)
    'course_lib.layers.positions.sinusoids'

For graded work: the references and the library come with the course, so a learner could return what they
compute. The attempt is judged once more while its calls are watched. It may call what the check passes to
it, what `yours` returns for earlier exercises, and what the exercise allows (`may_call`). Copied text can't
be recognised.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from course_lib.models.own_file import run_file
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises.catalogue import exercise_topics, loaded_exercises
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.guarded_call import CODE_OF_OTHERS
from course_lib.teaching.exercises.judging import judge
from course_lib.teaching.exercises.verdict import Verdict

COURSE = tuple(f"{PROJECT_ROOT / name}/" for name in ("course_lib", "lessons", "tools"))
MACHINERY = str(PROJECT_ROOT / "course_lib" / "teaching")  # `yours`, and the check itself
HEADLINE = "Your {} uses the course's own code, so it isn't graded."
ADVICE = (
    "It uses `{}`. In graded work, write the computation yourself. You may call functions that your function "
    'gets as arguments, and `yours("…")` for earlier exercises.'
)


def refuse_course_code(exercise: Exercise, attempt: Any) -> Verdict | None:
    """A verdict if the attempt uses the course's code."""
    if not (name := find_course_code(exercise, attempt)):
        return None
    what = "file" if isinstance(attempt, Path) else "class" if isinstance(attempt, type) else "function"
    return Verdict(exercise.name, "wrong", HEADLINE.format(what), ADVICE.format(name), "course-code")


def find_course_code(exercise: Exercise, attempt: Any) -> str:
    """The course's function, class or module that the attempt is, inherits from or calls; else ""."""
    names = run_file(attempt).values() if isinstance(attempt, Path) else [attempt]
    own = next((name for value in names if (name := _name_in_course(value))), "")
    return own or _find_called(exercise, attempt)


def _name_in_course(value: Any) -> str:
    """The name of a function, class or module of the course, also if it is wrapped or inherited from."""
    if isinstance(value, ModuleType):
        return value.__name__ if _is_course_file(getattr(value, "__file__", None) or "") else ""
    if isinstance(value, type):
        return next((name for base in value.__mro__ if (name := _name_of_class(base))), "")
    function = _unwrapped(value)
    if isinstance(function, FunctionType):
        return _dotted_name(function.__code__) if _is_course_file(function.__code__.co_filename) else ""
    return _name_in_course(type(function)) if callable(function) else ""


def _unwrapped(value: Any) -> Any:
    """The function inside a partial one, a bound method, or one that a decorator has wrapped."""
    while isinstance(value, functools.partial):
        value = value.func
    return inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value


def _name_of_class(defined: type) -> str:
    methods = (value for value in vars(defined).values() if isinstance(value, FunctionType))
    in_course = any(_is_course_file(method.__code__.co_filename) for method in methods)
    return f"{defined.__module__}.{defined.__qualname__}" if in_course else ""


def _find_called(exercise: Exercise, attempt: Any) -> str:
    """The first function or class of the course that the attempt's code calls without permission."""
    solutions = set(_codes([exercise.reference, exercise.library]))
    allowed = {*_codes(exercise.may_call), *_codes(_earlier_solutions(exercise))}
    found: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if not _is_course_file(code.co_filename):
            if not code.co_filename.startswith(CODE_OF_OTHERS):
                allowed.update(_codes(_arguments(frame)))  # they may include functions of the check
        elif code in solutions or (code not in allowed and _can_be_imported(frame)):
            found.extend([_dotted_name(code)] if _is_called_by_learner(frame.f_back) else [])

    threading.setprofile(watch)  # for new threads: each call of the learner's code has one
    try:
        judge(exercise, attempt)
    finally:
        threading.setprofile(None)
    return found[0] if found else ""


def _earlier_solutions(exercise: Exercise) -> Iterator[Any]:
    """What `yours` may return for the exercises before this one."""
    names = list(exercise_topics())
    earlier = set(names[: names.index(exercise.name)])
    for other in loaded_exercises():
        if other.name in earlier:
            yield from (other.library, other.reference)


def _codes(values: Any) -> Iterator[CodeType]:
    """The code of functions, and of the methods of classes."""
    for value in map(_unwrapped, values):
        if isinstance(value, FunctionType):
            yield value.__code__
        elif isinstance(value, type):
            yield from _codes(method for method in vars(value).values() if isinstance(method, FunctionType))


def _arguments(frame: FrameType) -> Iterator[Any]:
    """What a function was called with, and the items of lists, tuples and dictionaries among it."""
    code = frame.f_code
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    n_arguments += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    for name in code.co_varnames[:n_arguments]:
        value = frame.f_locals.get(name)
        yield value
        yield from value.values() if isinstance(value, dict) else ()
        yield from value if isinstance(value, list | tuple) else ()


def _can_be_imported(frame: FrameType) -> bool:
    """Whether this is a call of a function at the top of a module, a constructor or a class method. Other
    methods and inner functions belong to something that the learner's code was given."""
    code = frame.f_code
    owner, _, name = code.co_qualname.rpartition(".")
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    is_constructor = name in ("__init__", "__new__") or isinstance(first, type)
    return code.co_name != "<lambda>" and (not owner or ("<locals>" not in owner and is_constructor))


def _is_called_by_learner(frame: FrameType | None) -> bool:
    """Whether the learner's code made the call, directly or through a package such as torch."""
    while frame is not None and not frame.f_code.co_filename.startswith(COURSE):
        if not frame.f_code.co_filename.startswith(CODE_OF_OTHERS):
            return True
        frame = frame.f_back
    return False


def _is_course_file(file: str) -> bool:
    return file.startswith(COURSE) and not file.startswith(MACHINERY)


def _dotted_name(code: CodeType) -> str:
    module = Path(code.co_filename).relative_to(PROJECT_ROOT).with_suffix("")
    return ".".join([*module.parts, code.co_qualname.removesuffix(".__init__")])
