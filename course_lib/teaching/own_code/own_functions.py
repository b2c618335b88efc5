"""The learner's own functions: kept when they pass their check, used by later lessons, and seen at work.

    >>> attend = yours("scaled_attention")
    scaled_attention: the library's (yours is not there yet)

A function is kept as source in `my_road.py`, with the imports and helpers it needs: it is loaded by itself,
in a module of its own, so one broken block does not spoil the others. `yours` says in one line which it
gives. Nothing that stands in the file, or is missing from it, stops a lesson: the library's version is used,
and the line says why.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import math
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from types import FrameType, FunctionType, ModuleType
from typing import Any

from course_lib.teaching.contents import lesson
from course_lib.teaching.exercises.any_exercise import AnyExercise, judge
from course_lib.teaching.exercises.catalogue import exercise_called, loaded_exercises
from course_lib.teaching.exercises.code_reading import names_read
from course_lib.teaching.exercises.guarded_call import call, inside_a_call
from course_lib.teaching.own_code import road_file
from course_lib.teaching.own_code.road_file import Kept, road

MODULE = "my_road"  # the name of the module that a kept function is loaded into
SOURCES = ("math", "torch", "torch.nn", "torch.nn.functional", "numpy", "itertools", "functools")
TABLES = (list, tuple, dict, set)
LONGEST_LOAD = 5.0  # seconds for a block of my_road.py
LONGEST_TABLE = 200  # characters: a few entries, not a memo that the check has filled
_judged: dict[tuple[str, str], tuple[Callable | None, str]] = {}  # a block is checked once a session


class NotKept(Exception):
    """Why a function that passed cannot be kept; the message goes to the learner."""


# ---- kept


def keep(exercise: AnyExercise, attempt: Any) -> str:
    """Put a function that passed into the file, in place of an older one. Gives a sentence where that fails.

    It is kept only if it also passes when loaded from there: what needs more of the notebook than its
    imports and helpers would not serve a later lesson.
    """
    try:
        source = source_of(exercise.name, attempt)
        function, reason = load_kept(exercise.name, source)
        if function is None or judge(exercise, function).status != "passed":
            raise NotKept(reason or "away from this notebook it does not pass")
        number, day = lesson(exercise.lesson).number, date.today().isoformat()
        road_file.write_block(Kept(exercise.name, number, day, source))
    except NotKept as error:
        return f"It is not kept for later lessons: {error}."
    except road_file.TROUBLE:
        return "It is not kept for later lessons: `my_road.py` cannot be written."
    except Exception:  # the learner's objects may answer anything to a question
        return "It is not kept for later lessons: its source cannot be gathered."
    return ""


def source_of(name: str, attempt: Any) -> str:
    """The source of a function with what it needs: imports, plain numbers, helpers from the same notebook."""
    function = inspect.unwrap(attempt)
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise NotKept("only a function written with `def` can be")
    head: set[str] = set()
    parts: list[str] = []
    _gather(function, head, parts, seen={function.__name__})
    if function.__name__ != name:
        parts.append(f"{name} = {function.__name__}")
    lines = sorted(head, key=lambda line: (not line.startswith(("import ", "from ")), line))
    return "\n\n\n".join(filter(None, ["\n".join(lines), *parts]))


def _gather(thing: Any, head: set[str], parts: list[str], seen: set[str]) -> None:
    """The source of a function or class, after that of what it uses; `head` gets imports and numbers."""
    try:
        source = textwrap.dedent(inspect.getsource(thing)).strip()
        code = compile(source, "", "exec")
    except (OSError, TypeError, SyntaxError):
        raise NotKept("its source cannot be found") from None
    space = getattr(thing, "__globals__", None) or vars(sys.modules[thing.__module__])
    for name in names_read(code):
        if name in seen or name not in space or hasattr(builtins, name):
            continue
        seen.add(name)
        value = space[name]
        if lines := _lines(name, value, here=space.get("__name__")):
            head.update(lines)
        elif isinstance(inspect.unwrap(value), FunctionType | type) and value.__name__ == name:
            _gather(inspect.unwrap(value), head, parts, seen)
    parts.append(source)


def _lines(name: str, value: Any, here: str) -> list[str]:
    """The lines that give `value` this name in another module than `here`; none where its source must go."""
    if isinstance(value, ModuleType):
        return [f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")]
    if type(value) in TABLES and len(repr(value)) > LONGEST_TABLE:
        return [f"{name} = {type(value).__name__}()"]
    if type(value) in (int, float, str, bool, *TABLES):
        infinite = value in (math.inf, -math.inf)
        return [f'{name} = float("{value}")' if infinite else f"{name} = {value!r}"]
    own, home = getattr(value, "__name__", name), getattr(value, "__module__", None)
    for module in filter(None, (home, *SOURCES)) if home != here and isinstance(own, str) else ():
        if module in sys.modules and getattr(sys.modules[module], own, None) is value:
            return [f"from {module} import {own}" + (f" as {name}" if name != own else "")]
    if known := _solved(name, value):
        return ["from course_lib.teaching import yours", f'{name} = yours("{known}")']
    return []


def _solved(name: str, value: Any) -> str | None:
    """The exercise that this function solves: it has a block of its own, or is the library's."""
    if name in {kept.name for kept in road()} and isinstance(value, FunctionType):
        return name
    both = ((one.name, solved) for one in loaded_exercises() for solved in (one.library, one.reference))
    return next((name for name, solved in both if solved is value and value is not None), None)


def load_kept(name: str, source: str) -> tuple[Callable | None, str]:
    """The function called `name` that a block makes, or None and why there is none."""
    space: dict[str, Any] = {"__name__": MODULE}
    label = f"<my_road.py: {name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[label] = (len(source), None, lines, label)  # so that a fault can show its line
    result = call(lambda: exec(compile(source, label, "exec"), space), time.monotonic() + LONGEST_LOAD)
    if result.took_too_long:
        return None, "it does not end when it is loaded"
    if result.fault:
        return None, f"it stops with a {result.fault.kind}"
    function = space.get(name)
    return (function, "") if callable(function) else (None, f"it makes no function `{name}`")


# ---- used


def yours(name: str) -> Callable:
    """The function that solves the exercise called `name`: the learner's, or else the library's."""
    exercise = exercise_called(name)
    function, whose = _own(exercise)
    if not inside_a_call():  # a function under check that calls it would say so once a case
        print(f"{name}: {whose}")
    return function or exercise.library or exercise.reference


def _own(exercise: AnyExercise) -> tuple[Callable | None, str]:
    try:
        kept = next((kept for kept in road_file.blocks()[1] if kept.name == exercise.name), None)
    except road_file.TROUBLE:
        return None, "the library's (your my_road.py cannot be read)"
    if kept is None:
        return None, "the library's (yours is not there yet)"
    key = exercise.name, kept.source
    if key not in _judged:
        _judged[key] = None, "the library's (yours calls itself)"  # the answer to itself, while it is tried
        _judged[key] = _tried(exercise, kept)
    return _judged[key]


def _tried(exercise: AnyExercise, kept: Kept) -> tuple[Callable | None, str]:
    function, reason = load_kept(kept.name, kept.source)
    if function is None:
        return None, f"the library's (yours cannot be used: {reason})"
    if judge(exercise, function).status != "passed":
        return None, "the library's (yours does not pass its check any more)"
    return function, f"yours, from lesson {kept.lesson}"


# ---- at work


def called(work: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """What the work gives, and how often each function from `my_road.py` was called meanwhile.

    A part can be the learner's and yet stand idle: where the library lends a block, it brings its insides.

    >>> called(lambda: abs(-1))
    (1, {})
    """
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") == MODULE:
            found[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, dict(found)
