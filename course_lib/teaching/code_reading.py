"""What a learner's function shows without being called: the global names it reads, and how it is written.

>>> find_notebook_numbers(scaled_attention)      # d_k = 16 was left over from a cell above
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


def find_globals(function: Any) -> dict[str, Any]:
    """The global names a function reads, with their values, and those of its helpers in the notebook."""
    values: dict[str, Any] = {}
    functions = [inspect.unwrap(function)]
    for current in functions:  # the list grows on the way
        namespace = getattr(current, "__globals__", {})
        for name in find_names(current.__code__) if isinstance(current, FunctionType) else ():
            if name in namespace and name not in values:
                value = values[name] = namespace[name]
                if isinstance(value, FunctionType) and value.__globals__ is namespace:
                    functions.append(value)
    return values


def find_names(code: CodeType) -> Iterator[str]:
    """The names that a piece of code, with the functions in it, takes from outside."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        elif isinstance(instruction.argval, CodeType):
            yield from find_names(instruction.argval)


def find_notebook_numbers(function: Any) -> list[str]:
    """The numbers and tensors it reads that are no parameters: left over in the notebook from other cells.

    Names in capitals, such as BOS, are constants and don't count.
    """
    values = find_globals(function).items()
    return [name for name, value in values if type(value) in (int, float, Tensor) and not name.isupper()]


def ends_the_session(function: Any) -> bool:
    """Whether it calls the `exit` of a notebook, which raises nothing that could be caught: it ends the
    kernel."""
    return any(type(value).__module__ == "IPython.core.autocall" for value in find_globals(function).values())


def has_same_code(function: Any, other: Any) -> bool:
    """Whether two functions are written alike, apart from docstrings, comments and layout."""

    def statements(function: Any) -> list[str]:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body
        code = [node for node in body if not isinstance(getattr(node, "value", None), ast.Constant)]
        return [ast.dump(node) for node in code]

    try:
        return statements(function) == statements(other)
    except (OSError, TypeError, SyntaxError, AttributeError):  # no source, or no `def` in it
        return False
