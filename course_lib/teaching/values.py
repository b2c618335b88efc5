"""Ordinary Python values, and tensors among them: compared part by part, copied, and shown in a few lines.

>>> same({"a": [1, 2.0]}, {"a": (1, np.float32(2))}), same([1, 2], [1, 3])
(True, False)
"""

from __future__ import annotations

import math
import pprint
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from course_lib.formatting import rounded

MOST_SHOWN = 600  # characters


def plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers, tuples as lists."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def same(one: Any, other: Any) -> bool:
    """Whether two values are alike; numbers but for rounding. A function cannot be looked into: alike."""
    one, other = plain(one), plain(other)
    if callable(one) and callable(other):
        return True
    if are_numbers(one, other):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6) or (one != one and other != other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def are_numbers(*values: Any) -> bool:
    return all(isinstance(plain(x), int | float) and not isinstance(plain(x), bool) for x in values)


def kind(value: Any) -> str:
    """What sort of value it is, with its shape if it has one.

    >>> kind([]), kind(np.ones((2, 3)))
    ('a list', 'a ndarray of shape (2, 3)')
    """
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor | np.ndarray) else ""
    return f"a {type(value).__name__}{shape}"


def copied(value: Any) -> Any:
    """A copy that shares nothing which can be changed; functions and strange things as they are."""
    return _rebuilt(value, lambda one: one.detach().clone() if isinstance(one, Tensor) else one)


def shown(value: Any) -> str:
    """As text of a few lines."""
    if callable(value):
        return "a function"
    if isinstance(value, Tensor):
        return rounded(value)
    text = pprint.pformat(_rebuilt(value, _short), width=60, compact=True)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"


def _rebuilt(value: Any, part: Any) -> Any:
    """Lists, tuples and dictionaries anew, with `part` of everything in them."""
    if type(value) in (list, tuple):
        return type(value)(_rebuilt(item, part) for item in value)
    if type(value) is dict:
        return {key: _rebuilt(item, part) for key, item in value.items()}
    return part(value)


def _short(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _rebuilt(value.tolist(), _short)
    return float(f"{value:.4g}") if isinstance(value, float) else value
