"""The learner's own functions, kept as source in `my_road.py` in their folder, theirs to read and to edit.

    # --- soft_lookup · lesson 08 · 2026-11-15
    import torch


    def soft_lookup(query, keys, values):
        ...

One block for each exercise, with the imports and helpers it needs: it is loaded by itself, in a module of its
own, so one broken block does not spoil the others. Nothing that stands in the file can stop a lesson.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import math
import re
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching.event_log import locked
from course_lib.teaching.learners_code import names_read
from course_lib.teaching.lessons import lesson

if TYPE_CHECKING:  # what needs torch is imported where it is used: the list of what is kept needs none of it
    from course_lib.teaching.task import Task

HEADER = re.compile(r"^# --- (\w+) · lesson (\w+) · (\d{4}-\d\d-\d\d) *\r?\n", re.MULTILINE)
TOP = (
    "# Your own functions, each kept when its check passed. Later lessons use them. They are yours to edit;\n"
    "# only leave the lines that begin with # --- as they are: a function is found by them.\n"
)
TROUBLE = (OSError, RuntimeError, ValueError)  # no disk, no right, no lock, no home folder, no text
SOURCES = ("math", "torch", "torch.nn", "torch.nn.functional", "numpy", "itertools", "functools")
PLAIN = (int, float, str, bool)
LONGEST_LITERAL = 200  # characters: a table of a few entries, not a memo that the check has filled


class Kept(NamedTuple):
    """One block of the file: the exercise, the number of its lesson, the day it passed, its source."""

    name: str
    lesson: str
    date: str
    source: str


class NotKept(Exception):
    """Why a function that passed cannot be kept; the message goes to the learner."""


def road_file() -> Path:
    return user_folder() / "my_road.py"


def road() -> list[tuple[str, str, str]]:
    """What is kept: (exercise, number of its lesson, date), in the order of the file."""
    try:
        return [(kept.name, kept.lesson, kept.date) for kept in blocks()[1]]
    except TROUBLE:
        return []


def blocks() -> tuple[str, list[Kept]]:
    """What stands above the first block, and the blocks. Raises one of TROUBLE where nothing can be read."""
    file = road_file()
    if not file.exists():
        return TOP, []
    top, *parts = HEADER.split(file.read_text(encoding="utf-8-sig"))
    return top, [Kept(*parts[i : i + 4]) for i in range(0, len(parts), 4)]


def keep(exercise: Task, attempt: Any, passes: Callable[[Callable], bool]) -> str:
    """Put a function that passed into the file, in place of an older one. Gives a sentence where that fails.

    It is kept only if it also `passes` when loaded from there: what needs more of the notebook than its
    imports and helpers would not serve a later lesson.
    """
    try:
        source = source_of(exercise.name, attempt)
        function, reason = load(exercise.name, source)
        if function is None or not passes(function):
            raise NotKept(reason or "away from this notebook it does not pass")
        _write(Kept(exercise.name, lesson(exercise.lesson).number, date.today().isoformat(), source))
    except NotKept as error:
        return f"It is not kept for later lessons: {error}."
    except TROUBLE:
        return "It is not kept for later lessons: `my_road.py` cannot be written."
    except Exception:  # the learner's objects may answer anything to a question
        return "It is not kept for later lessons: its source cannot be gathered."
    return ""


def _write(new: Kept) -> None:
    file = road_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file):
        top, old = blocks()
        if any(kept.name == new.name and kept.source.strip() == new.source.strip() for kept in old):
            return  # the day it first passed stays
        replaced = [new if kept.name == new.name else kept for kept in old]
        if new not in replaced:
            replaced.append(new)
        elif file.exists():  # what is replaced may have been edited by hand
            write_atomically(file.with_name("my_road_before.py"), file.read_text(encoding="utf-8"))
        parts = [
            f"# --- {kept.name} · lesson {kept.lesson} · {kept.date}\n{kept.source.strip()}\n"
            for kept in replaced
        ]
        write_atomically(file, "\n\n".join([(top.strip() or TOP.strip()) + "\n", *parts]))


def load(name: str, source: str, seconds: float = 5.0) -> tuple[Callable | None, str]:
    """The function called `name` that a block makes, or None and why there is none."""
    from course_lib.teaching.calling import call

    space: dict[str, Any] = {"__name__": "my_road"}
    label = f"<my_road.py: {name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[label] = (len(source), None, lines, label)  # so that a fault can show its line
    result = call(lambda: exec(compile(source, label, "exec"), space), time.monotonic() + seconds)
    if result.took_too_long:
        return None, "it does not end when it is loaded"
    if result.fault:
        return None, f"it stops with a {result.fault.kind}"
    function = space.get(name)
    return (function, "") if callable(function) else (None, f"it makes no function `{name}`")


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
    if type(value) in (*PLAIN, list, tuple, dict, set):
        return [f"{name} = {_literal(value)}"]
    own, home = getattr(value, "__name__", name), getattr(value, "__module__", None)
    for module in filter(None, (home, *SOURCES)) if home != here and isinstance(own, str) else ():
        if module in sys.modules and getattr(sys.modules[module], own, None) is value:
            return [f"from {module} import {own}" + (f" as {name}" if name != own else "")]
    if known := _solved(name, value):
        return ["from course_lib.teaching import yours", f'{name} = yours("{known}")']
    return []


def _literal(value: Any) -> str:
    """A number, a text or a small table, written out; of a large table, an empty one of its kind."""
    if value in (math.inf, -math.inf):
        return f'float("{value}")'
    text = repr(value)
    return text if type(value) in PLAIN or len(text) <= LONGEST_LITERAL else f"{type(value).__name__}()"


def _solved(name: str, value: Any) -> str | None:
    """The exercise that this function solves: it has a block of its own, or is the library's."""
    from course_lib.teaching.exercises import EXERCISES

    if name in {kept for kept, *_ in road()} and isinstance(value, FunctionType):
        return name
    both = ((one.name, solved) for one in EXERCISES.values() for solved in (one.library, one.reference))
    return next((name for name, solved in both if solved is value and value is not None), None)
