"""Whether an attempt is the learner's own work, or gets its answer from the course's code or from a library.

    >>> from course_lib.layers.positions import sinusoids
    >>> from course_lib.teaching.exercises.catalogue import find_exercise
    >>> find_borrowed(find_exercise("sinusoids"), sinusoids)
    {'course-code': 'course_lib.layers.positions.sinusoids'}

The references and the library come with the course, so a learner could return what they compute; and some
exercises are a single call of torch (`answered_by`). The attempt is judged once more while its calls are
watched. In graded work, it may call what the check passes to it, what `yours` returns for earlier exercises,
and what the exercise allows (`may_call`). Otherwise, a library that does the exercise is only mentioned.
Copied text can't be recognised.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import pkgutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from torch.overrides import TorchFunctionMode

from course_lib.models.own_file import run_file
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises.catalogue import exercise_topics, loaded_exercises
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.guarded_call import CODE_OF_OTHERS, observer
from course_lib.teaching.exercises.judging import judge
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs

COURSE = tuple(f"{PROJECT_ROOT / name}/" for name in ("course_lib", "lessons", "tools"))
MACHINERY = str(PROJECT_ROOT / "course_lib" / "teaching")  # `yours`, and the check itself
START_THREAD = threading.Thread.start.__code__
UNSEEN = tuple(  # of the standard library: what they start, or what waits for it, isn't watched
    f"{sysconfig.get_path('stdlib')}/{name}"
    for name in ("asyncio/", "concurrent/", "multiprocessing/", "queue.py", "subprocess.py")
)
REFUSALS = {  # in the order of their importance
    "course-code": (
        "Your {} uses the course's own code, so it isn't graded.",
        "It uses `{}`. In graded work, write the computation yourself. You may call functions that your "
        'function gets as arguments, and `yours("…")` for earlier exercises.',
    ),
    "library-call": (
        "Your {} leaves the exercise to a library, so it isn't graded.",
        "It uses `{}`, which does what this exercise asks you to write. In graded work, write the "
        "computation yourself.",
    ),
    "out-of-sight": (
        "Your {} works where the check can't see it, so it isn't graded.",
        "It uses `{}`. In graded work, do the whole computation in the function itself, without other "
        "threads or processes.",
    ),
}
REMARK = (
    "You used `{}`, which does what this exercise asks you to write. That's fine for now; in a graded "
    "course, it gives no points."
)


def judge_own_work(exercise: Exercise, attempt: Any, passed: Verdict, *, graded: bool) -> Verdict:
    """The verdict on an attempt that passed, in view of what it uses."""
    if not graded and not exercise.answered_by:
        return passed
    found = find_borrowed(exercise, attempt)
    if not graded:
        remark = REMARK.format(found["library-call"]) if "library-call" in found else ""
        return replace(passed, details=join_paragraphs(passed.details, remark))
    what = "file" if isinstance(attempt, Path) else "class" if isinstance(attempt, type) else "function"
    for slip, (headline, advice) in REFUSALS.items():
        if slip in found:
            return Verdict(exercise.name, "wrong", headline.format(what), advice.format(found[slip]), slip)
    return passed


def find_borrowed(exercise: Exercise, attempt: Any) -> dict[str, str]:
    """What the attempt is, inherits from or calls that isn't its own: the first name of each of REFUSALS."""
    names = run_file(attempt).values() if isinstance(attempt, Path) else [attempt]
    if own := next((name for value in names if (name := _name_in_course(value))), ""):
        return {"course-code": own}
    return _find_called(exercise, attempt)


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


def _find_called(exercise: Exercise, attempt: Any) -> dict[str, str]:
    """The first of each kind that the attempt's code calls without permission."""
    solutions = set(_codes([exercise.reference, exercise.library]))
    allowed = {*_codes(exercise.may_call), *_codes(_earlier_solutions(exercise))}
    answers = {pkgutil.resolve_name(name): name for name in exercise.answered_by}
    codes = {code: name for answer, name in answers.items() for code in _codes([answer])}
    found: dict[str, str] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        if code in codes and _is_called_by_learner(caller):
            found.setdefault("library-call", codes[code])
        elif (code is START_THREAD or code.co_filename.startswith(UNSEEN)) and _is_learners(caller):
            found.setdefault("out-of-sight", code.co_qualname)
        elif _is_learners(frame):
            allowed.update(_codes(_arguments(frame)))  # they may include functions of the check
        elif (
            _is_course_file(code.co_filename)
            and (code in solutions or (code not in allowed and _can_be_imported(frame)))
            and _is_called_by_learner(caller)
        ):
            found.setdefault("course-code", _dotted_name(code))

    def note(function: Callable, frame: FrameType) -> None:
        if function in answers and _is_called_by_learner(frame):
            found.setdefault("library-call", answers[function])

    @contextlib.contextmanager
    def observe() -> Iterator[None]:
        with _TorchCalls(note):
            yield
        if sys.getprofile() is not watch:
            found.setdefault("out-of-sight", "sys.setprofile")

    threading.setprofile(watch)  # for new threads: each call of the learner's code has one
    token = observer.set(observe)
    try:
        judge(exercise, attempt)
    finally:
        observer.reset(token)
        threading.setprofile(None)
    return found


class _TorchCalls(TorchFunctionMode):
    """Notes every call of a torch function, by whatever name, and whether it is written in Python or in C."""

    def __init__(self, note: Callable[[Callable, FrameType], None]):
        super().__init__()
        self.note = note

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.note(function, sys._getframe(1))
        return function(*args, **kwargs or {})


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
    while frame is not None and not _is_learners(frame):
        file = frame.f_code.co_filename
        if file.startswith(COURSE) and file != __file__:  # this one only notes a call and passes it on
            return False
        frame = frame.f_back
    return frame is not None


def _is_learners(frame: FrameType | None) -> bool:
    return frame is not None and not frame.f_code.co_filename.startswith((*COURSE, *CODE_OF_OTHERS))


def _is_course_file(file: str) -> bool:
    return file.startswith(COURSE) and not file.startswith(MACHINERY)


def _dotted_name(code: CodeType) -> str:
    module = Path(code.co_filename).relative_to(PROJECT_ROOT).with_suffix("")
    return ".".join([*module.parts, code.co_qualname.removesuffix(".__init__")])
