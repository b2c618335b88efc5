"""Whether two values are equal, and if not, where: numbers up to rounding, and the form they come in.

    >>> values_match({"a": [1, 2.0]}, {"a": (1, np.float32(2))}), values_match([1, 2], [1, 3])
    (True, False)
    >>> describe_form(torch.zeros(2, 5), [[0.0] * 5] * 2)
    'Your function returned a list of lists, but a tensor of shape (2, 5) is expected.'

Numbers are compared in whatever container they come. The container, the dtype and the shape are compared
separately, so that a learner whose numbers are right hears that, and what is left to fix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.formatting import counted, shape_text
from course_lib.teaching.exercises.answer import describe_type, format_value, to_plain
from course_lib.teaching.exercises.verdict import name_some


def tensors_match(expected: Tensor, got: Tensor, *, scaled: bool = False, atol: float = 3e-5) -> bool:
    """Whether two tensors are equal up to rounding error.

    With `scaled`, the error may be 3e-5 of the largest number, because large numbers increase it (a softmax
    does, for example), and tiny ones would hide a difference.
    """
    expected, got = expected.float(), got.float()
    if expected.shape != got.shape:
        return False
    if not scaled:
        return torch.allclose(expected, got, rtol=1e-4, atol=atol, equal_nan=True)
    largest = expected.nan_to_num(0, 0, 0).abs().max().item() if expected.numel() else 0.0
    return torch.allclose(expected, got, rtol=1e-3, atol=3e-5 * largest, equal_nan=True)


def values_match(expected: Any, got: Any, *, exact_tensors: bool = False, scaled: bool = False) -> bool:
    """Whether two values are equal: numbers up to rounding, in whatever container. Any two functions match.

    With `exact_tensors`, two tensors must agree in shape, dtype and every bit, however deeply nested, and
    neither may have collected a gradient.
    """
    match = partial(values_match, exact_tensors=exact_tensors, scaled=scaled)
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        if not exact_tensors:
            return tensors_match(expected.detach().cpu(), got.detach().cpu(), scaled=scaled, atol=1e-6)
        kinds = [(tensor.shape, tensor.dtype, tensor.grad is None) for tensor in (expected, got)]
        same_kind = kinds[0] == kinds[1]
        return same_kind and bool(((expected == got) | (expected.isnan() & got.isnan())).all())
    expected, got = to_plain(expected), to_plain(got)
    if callable(expected) and callable(got):
        return True
    if are_numbers(expected, got):
        both_nan = expected != expected and got != got
        try:
            return math.isclose(expected, got, rel_tol=1e-3 if scaled else 1e-4, abs_tol=1e-8) or both_nan
        except OverflowError:  # an int that no float can hold
            return expected == got
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        same_keys = expected.keys() == got.keys()
        return same_keys and all(match(expected[key], got[key]) for key in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(match, expected, got))
    return type(expected) is type(got) and expected == got


def are_numbers(*values: Any) -> bool:
    plain_values = map(to_plain, values)
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in plain_values)


def describe_form(expected: Any, got: Any, path: str = "") -> str:
    """A sentence about the first part whose container or dtype is wrong though its numbers are right.

    A list may be a tuple, and a number may be a tensor of shape (). But a tensor must be a tensor of the same
    dtype, and a list of token ids must neither be a tensor nor contain tensors.
    """
    what = f"`answer{path}` is" if path else "Your function returned"
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return "" if _same_kind(expected, got) else _describe_dtype(expected, got, path)
    if are_numbers(expected, got) and (not path or isinstance(to_plain(expected), float)):
        return ""
    is_array = isinstance(got, Tensor | np.ndarray)
    if isinstance(expected, Tensor) or (is_array and not _may_be_array(expected)):
        return f"{what} {describe_type(got)}, but {describe_type(expected)} is expected."
    if isinstance(expected, Mapping):
        parts = ((expected[key], got[key], f"{path}[{key!r}]") for key in expected)
    elif isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        parts = ((*pair, f"{path}[{i}]") for i, pair in enumerate(zip(expected, got, strict=True)))
    else:
        return ""
    return next(filter(None, (describe_form(*part) for part in parts)), "")


def give_form(form: Any, value: Any) -> Any:
    """The value with tensors where `form` has them: in a worked example they are written as lists."""
    if isinstance(form, Tensor) and not isinstance(value, Tensor):
        return torch.tensor(value, dtype=form.dtype)
    if isinstance(form, Mapping) and isinstance(value, Mapping) and form.keys() == value.keys():
        return {key: give_form(form[key], value[key]) for key in form}
    if isinstance(form, list | tuple) and isinstance(value, list | tuple) and len(form) == len(value):
        return type(form)(map(give_form, form, value))
    return value


def _same_kind(expected: Tensor, got: Tensor) -> bool:
    """The same dtype; for integers, any integer dtype."""
    whole = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    return expected.dtype == got.dtype or (expected.dtype in whole and got.dtype in whole)


def _describe_dtype(expected: Tensor, got: Tensor, path: str) -> str:
    reason = ""
    if expected.dtype == torch.float32 and got.is_floating_point():
        reason = " NumPy and `.double()` switch to float64. Use torch's default, or convert with `.float()`."
    elif expected.dtype == torch.bool:
        reason = " Compare (`==`, `<`, `>=`) to get True and False, or convert it with `.bool()`."
    name = f"`answer{path}`" if path else "The tensor"
    return f"{name} is {got.dtype}, but {expected.dtype} is expected.{reason}"


def _may_be_array(expected: Any) -> bool:
    """Whether a tensor is as good as this value: a float, or a list of nothing but floats."""
    if isinstance(expected, list | tuple):
        return bool(expected) and all(isinstance(item, float) for item in expected)
    return isinstance(expected, float | bool | np.generic)


def describe_difference(expected: Any, got: Any, path: str = "") -> str:
    """A sentence about the first difference that the two values themselves don't show at a glance."""
    what = f"`answer{path}`" if path else "The answer"
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        if expected.shape == got.shape:
            return f"{what} differs." if path else ""
        hint = hint_at_shape(expected, got)
        wanted, returned = shape_text(expected.shape), shape_text(got.shape)
        return f"{what} has shape {returned}, but {wanted} is expected. {hint}".strip()
    plain = to_plain(expected), to_plain(got)
    if isinstance(expected, Tensor) and isinstance(got, list | tuple) and expected.shape[:1] != (len(got),):
        return f"{what} is {describe_type(got)}, but {describe_type(expected)} is expected."
    if isinstance(plain[0], Mapping) and isinstance(plain[1], Mapping):
        if expected.keys() != got.keys():
            missing = [key for key in expected if key not in got]
            return _describe_keys(what, missing, [key for key in got if key not in expected])
        parts = ((expected[key], got[key], f"{path}[{key!r}]") for key in expected)
    elif isinstance(plain[0], list) and isinstance(plain[1], list):
        if len(plain[0]) != len(plain[1]):
            n_expected = counted(len(plain[0]), "item")
            return f"{what} has {counted(len(plain[1]), 'item')}, but {n_expected} {_be(plain[0])} expected."
        parts = ((*pair, f"{path}[{i}]") for i, pair in enumerate(zip(*plain, strict=True)))
    else:
        return f"{what} is {format_value(got)}, but {format_value(expected)} is expected." if path else ""
    return next((describe_difference(*part) for part in parts if not values_match(*part[:2])), "")


def hint_at_shape(expected: Tensor, got: Tensor) -> str:
    if expected.ndim > 1 and got.shape == expected.shape[::-1]:
        return "These are the right sizes in reverse order. Is a transpose missing, or is one wrong?"
    if got.ndim > expected.ndim and got.squeeze().shape == expected.squeeze().shape:
        return "It has an extra axis of size 1."
    if got.ndim < expected.ndim and got.shape == expected.squeeze().shape:
        return "An axis of size 1 is missing: `squeeze()` without `dim` removes all of them."
    return ""


def _be(items: list) -> str:
    return "is" if len(items) == 1 else "are"


def _describe_keys(what: str, missing: list, unexpected: list) -> str:
    def name_keys(keys: list) -> str:
        return f"{'key' if len(keys) == 1 else 'keys'} {name_some([repr(key) for key in keys])}"

    lacks = f"{what} lacks the {name_keys(missing)}." if missing else ""
    has = f"{what} has the unexpected {name_keys(unexpected)}." if unexpected else ""
    return f"{lacks} {has}".strip()
