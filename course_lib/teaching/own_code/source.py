"""The source of a learner's function with everything it needs to run outside the notebook.

It may need imports, plain numbers and short containers, and helpers from the same notebook. A helper that
solves an exercise is not copied; `yours` gets it instead.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import math
import sys
import textwrap
from types import FunctionType, ModuleType
from typing import Any

from course_lib.teaching.code_reading import find_names
from course_lib.teaching.exercises.catalogue import loaded_exercises
from course_lib.teaching.own_code.kept_file import list_own_functions

USUAL_MODULES = ("math", "torch", "torch.nn", "torch.nn.functional", "numpy", "itertools", "functools")
CONTAINERS = (list, tuple, dict, set)
LONGEST_CONTAINER = 200  # characters: a few entries, not a cache that the check has filled


class NotKept(Exception):
    """Why a function that passed can't be saved; the message is shown to the learner."""


def gather_source(name: str, attempt: Any) -> str:
    """Source that defines the attempt as `name`, after everything it needs."""
    function = inspect.unwrap(attempt)
    if not isinstance(function, FunctionType | type) or function.__name__ == "<lambda>":
        raise NotKept("only functions written with `def` and classes can be saved")
    first_lines: set[str] = set()
    definitions: list[str] = []
    _add_definition(function, first_lines, definitions, seen={function.__name__})
    if function.__name__ != name:
        definitions.append(f"{name} = {function.__name__}")
    lines = sorted(first_lines, key=lambda line: (not line.startswith(("import ", "from ")), line))
    return "\n\n\n".join(filter(None, ["\n".join(lines), *definitions]))


def _add_definition(thing: Any, first_lines: set[str], definitions: list[str], seen: set[str]) -> None:
    """Add the source of a function or class, after that of its helpers; imports and numbers come first."""
    try:
        source = textwrap.dedent(_find_source(thing)).strip()
        code = compile(source, "", "exec")
    except (OSError, TypeError, SyntaxError):
        raise NotKept("its source code can't be found") from None
    method = _first_method(thing) if isinstance(thing, type) else thing
    namespace = getattr(method, "__globals__", None) or vars(sys.modules[thing.__module__])
    for name in find_names(code):
        if name in seen or name not in namespace or hasattr(builtins, name):
            continue
        seen.add(name)
        value = namespace[name]
        if lines := _lines_for(name, value, notebook=namespace.get("__name__")):
            first_lines.update(lines)
        elif isinstance(inspect.unwrap(value), FunctionType | type) and value.__name__ == name:
            _add_definition(inspect.unwrap(value), first_lines, definitions, seen)
    definitions.append(source)


def _first_method(defined: type) -> FunctionType | None:
    return next((value for value in vars(defined).values() if isinstance(value, FunctionType)), None)


def _find_source(thing: Any) -> str:
    """The source of a function or class. For classes in a notebook, `inspect.getsource` finds no file, but
    their methods know the cell."""
    if not isinstance(thing, type) or (method := _first_method(thing)) is None:
        return inspect.getsource(thing)
    text = "".join(linecache.getlines(method.__code__.co_filename))
    line = method.__code__.co_firstlineno
    for node in ast.walk(ast.parse(text)):
        is_it = isinstance(node, ast.ClassDef) and node.name == thing.__name__
        if is_it and node.lineno <= line <= node.end_lineno:
            return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
    return inspect.getsource(thing)


def _lines_for(name: str, value: Any, notebook: str) -> list[str]:
    """The lines that define `name` as `value` outside its notebook; none if its source is needed."""
    if isinstance(value, ModuleType):
        return [f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")]
    if type(value) in CONTAINERS and len(repr(value)) > LONGEST_CONTAINER:
        return [f"{name} = {type(value).__name__}()"]
    if type(value) in (int, float, str, bool, *CONTAINERS):
        infinite = value in (math.inf, -math.inf)
        return [f'{name} = float("{value}")' if infinite else f"{name} = {value!r}"]
    own_name, home = getattr(value, "__name__", name), getattr(value, "__module__", None)
    importable = home != notebook and isinstance(own_name, str)
    for module in filter(None, (home, *USUAL_MODULES)) if importable else ():
        if module in sys.modules and getattr(sys.modules[module], own_name, None) is value:
            return [f"from {module} import {own_name}" + (f" as {name}" if name != own_name else "")]
    if exercise := _find_solved_exercise(name, value):
        return ["from course_lib.teaching import yours", f'{name} = yours("{exercise}")']
    return []


def _find_solved_exercise(name: str, value: Any) -> str | None:
    """The exercise that this function solves: it has a block of its own, or is the library's."""
    own_names = {function.name for function in list_own_functions()}
    if isinstance(value, FunctionType | type) and name in own_names:
        return name
    for exercise in loaded_exercises():
        if value is not None and (value is exercise.library or value is exercise.reference):
            return exercise.name
    return None
