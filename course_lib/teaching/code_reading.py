"""What a learner's function reveals without being called.

>>> find_notebook_numbers(scaled_attention)      # d_k = 16 was defined in a cell above
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
    """The global names, with values, that a function and its helpers in the same notebook read."""
    values: dict[str, Any] = {}
    functions = [inspect.unwrap(function)]
    for current in functions:  # the list grows during the loop
        namespace = getattr(current, "__globals__", {})
        for name in find_names(current.__code__) if isinstance(current, FunctionType) else ():
            if name in namespace and name not in values:
                value = values[name] = namespace[name]
                if isinstance(value, FunctionType) and value.__globals__ is namespace:
                    functions.append(value)
    return values


def find_names(code: CodeType) -> Iterator[str]:
    """The names that a piece of code, with the functions in it, reads from outside."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        elif isinstance(instruction.argval, CodeType):
            yield from find_names(instruction.argval)


def find_notebook_numbers(function: Any) -> list[str]:
    """The numbers and tensors it reads from other cells of the notebook, not from its parameters.

    Names in capitals, such as BOS, are constants and don't count.
    """
    values = find_globals(function).items()
    return [name for name, value in values if type(value) in (int, float, Tensor) and not name.isupper()]


def ends_the_session(function: Any) -> bool:
    """Whether it uses a notebook's `exit`, which ends the kernel without raising an exception."""
    return any(type(value).__module__ == "IPython.core.autocall" for value in find_globals(function).values())


def uses_hash(function: Any) -> bool:
    """Whether it, or a helper in the same notebook, uses Python's `hash`, which differs between sessions."""
    helpers = [function, *find_globals(function).values()]
    return any(
        "hash" in find_names(helper.__code__) for helper in helpers if isinstance(helper, FunctionType)
    )


def has_same_code(function: Any, other: Any) -> bool:
    """Whether two functions are the same, apart from docstrings, comments and layout."""

    def statements(function: Any) -> list[str]:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body
        code = [node for node in body if not isinstance(getattr(node, "value", None), ast.Constant)]
        return [ast.dump(node) for node in code]

    try:
        return statements(function) == statements(other)
    except (OSError, TypeError, SyntaxError, AttributeError):  # no source, or no `def` in it
        return False
