"""What can be told from a learner's function without calling it: the names it reads, how it is written.

>>> notebook_numbers(scaled_attention)      # d_k = 16 was left over from a cell above
['d_k']
"""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from torch import Tensor


def globals_used(function: Any) -> dict[str, Any]:
    """The global names a function reads, with their values, those of its helpers in the notebook included."""
    found: dict[str, Any] = {}
    todo = [inspect.unwrap(function)]
    for one in todo:  # grows on the way
        space = getattr(one, "__globals__", {})
        for name in names_read(one.__code__) if isinstance(one, FunctionType) else ():
            if name in space and name not in found:
                found[name] = space[name]
                if isinstance(found[name], FunctionType) and found[name].__globals__ is space:
                    todo.append(found[name])
    return found


def notebook_numbers(function: Any) -> list[str]:
    """Numbers and tensors it reads that are no parameters: left over in the notebook from something else.

    Not those in capitals, such as BOS: who writes them so means them to stay the same.
    """
    used = globals_used(function).items()
    return [name for name, value in used if type(value) in (int, float, Tensor) and not name.isupper()]


def ends_the_session(function: Any) -> bool:
    """Whether it calls the `exit` of a notebook: that raises nothing to be caught, it ends the kernel."""
    return any(type(value).__module__ == "IPython.core.autocall" for value in globals_used(function).values())


def names_read(code: CodeType) -> Iterator[str]:
    """The names that a piece of code, with the functions in it, takes from outside."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
        elif isinstance(step.argval, CodeType):
            yield from names_read(step.argval)


def same_code(one: Any, other: Any) -> bool:
    """Whether two functions are written alike, but for docstrings, comments and layout."""

    def statements(function: Any) -> list[str]:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body
        return [ast.dump(one) for one in body if not isinstance(getattr(one, "value", None), ast.Constant)]

    try:
        return statements(one) == statements(other)
    except (OSError, TypeError, SyntaxError, AttributeError):  # no source, or no `def` in it
        return False
