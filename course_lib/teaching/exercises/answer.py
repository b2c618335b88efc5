"""What a learner's function returned: read whatever its container, compared, copied and formatted.

    >>> read_outputs([0.25, 0.75], {"weights": torch.float32}).form_problems[0].slip
    'python-numbers'
    >>> values_match({"a": [1, 2.0]}, {"a": (1, np.float32(2))}), values_match([1, 2], [1, 3])
    (True, False)

A NumPy array or a float64 tensor can still hold the right numbers. So the numbers are read and judged, and
what is wrong with their form is kept beside them.
"""

from __future__ import annotations

import inspect
import math
import pprint
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.formatting import rounded
from course_lib.teaching.exercises.verdict import Verdict, quote_names, wrong_verdict

MOST_READ = 10**5  # numbers; no exercise asks for more
MOST_SHOWN = 600  # characters


@dataclass(frozen=True, eq=False)
class Answer:
    """`value` is what was returned: of a function of tensors, its outputs in order, as float32 on the CPU.
    `form_problems` are what to put right although the numbers may be correct: container, dtype, inputs
    changed in place."""

    value: Any
    form_problems: tuple[Verdict, ...] = ()


# ---- reading the outputs of a function of tensors


def read_outputs(value: Any, dtypes: Mapping[str, torch.dtype]) -> Answer | Verdict:
    """The outputs with these names and dtypes, or why they cannot be read."""
    outputs = _split_outputs(value, list(dtypes))
    if isinstance(outputs, Verdict):
        return outputs
    tensors, problems = [], []
    for (name, dtype), output in zip(dtypes.items(), outputs, strict=True):
        tensor, problem = _read_tensor(output, name, dtype)
        if tensor is None:
            return problem
        tensors.append(tensor)
        problems += [problem] if problem else []
    return Answer(tuple(tensors), tuple(problems))


def _split_outputs(value: Any, names: Sequence[str]) -> Sequence | Verdict:
    wanted, last_line = quote_names(names), f"The last line should be `return {', '.join(names)}`."
    if value is None:
        return wrong_verdict("It returned `None`: did you forget `return`?", last_line, "returns-none")
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
        advice = "Write it with `def` and `return`, without `async` and without `yield`."
        return wrong_verdict(f"It returned a {type(value).__name__}, not {wanted}.", advice, "wrong-type")
    if len(names) == 1 and isinstance(value, tuple):
        comma = "A comma at the end of the `return` line makes a tuple. " if len(value) == 1 else ""
        return wrong_verdict(f"It returned a tuple; {wanted} alone is wanted.", comma + last_line, "tuple")
    if len(names) == 1:
        return [value]
    if not isinstance(value, tuple | list):
        headline = f"It returned one {_type_name(value)}; {len(names)} things are wanted: {wanted}."
        return wrong_verdict(headline, last_line, "missing-output")
    if len(value) != len(names):
        returned = f"a {_type_name(value)} of {len(value)}"
        headline = f"It returned {returned}; {len(names)} things are wanted: {wanted}."
        return wrong_verdict(headline, last_line, "wrong-count")
    return value


def _read_tensor(output: Any, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    """The output as a float32 tensor (None if that is impossible), and what is wrong with its form."""
    if _count_numbers(output) > MOST_READ:
        return None, wrong_verdict(
            f"`{name}` holds more than 100000 numbers: far too many.", slip="too-large"
        )
    if isinstance(output, Tensor):
        return _read_torch_tensor(output, name, dtype)
    if isinstance(output, np.ndarray | np.generic):
        slip, container, advice = "numpy", "NumPy array", "stay in torch, or use `torch.from_numpy(...)`"
    elif isinstance(output, list | tuple | float | int):
        slip, container = "python-numbers", f"Python {_type_name(output)}"
        advice = "use `torch.stack(...)`, or `torch.tensor(...)` for plain numbers"
    else:
        headline = f"`{name}` is a {_type_name(output)}; a torch tensor is wanted."
        return None, wrong_verdict(headline, slip="wrong-type")
    problem = wrong_verdict(f"`{name}` is a {container}; a torch tensor is wanted: {advice}.", slip=slip)
    if isinstance(output, list | tuple):
        output = [to_plain(item) for item in output]
    try:
        return torch.as_tensor(np.array(output, dtype=np.float32), device="cpu"), problem
    except (TypeError, ValueError, RuntimeError, OverflowError):  # ragged lists, strings, objects
        return None, problem


def _read_torch_tensor(tensor: Tensor, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    if tensor.is_complex():
        return None, wrong_verdict(f"`{name}` holds complex numbers; {dtype} is wanted.", slip="dtype")
    numbers = tensor.detach()
    numbers = numbers.to_dense() if numbers.layout != torch.strided else numbers
    numbers = numbers.to(device="cpu", dtype=torch.float32).clone()
    if tensor.dtype == dtype:
        return numbers, None
    reason = ""
    if dtype == torch.float32:
        reason = ": whole numbers and truth values lose what comes after the point"
        if tensor.is_floating_point():
            reason = ": the inputs' own type. NumPy and `.double()` bring in float64"
    return numbers, wrong_verdict(f"`{name}` is {tensor.dtype}; {dtype} is wanted{reason}.", slip="dtype")


def _type_name(value: Any) -> str:
    return "tensor" if isinstance(value, Tensor) else type(value).__name__


def _count_numbers(value: Any) -> int:
    """How many numbers it holds, counted no further than MOST_READ."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, np.ndarray):
        return value.size
    if not isinstance(value, list | tuple):
        return 1
    total = 0
    for item in value:
        total += _count_numbers(item)
        if total > MOST_READ:
            break
    return total


# ---- comparing


def tensors_match(expected: Tensor, got: Tensor, *, large: bool = False) -> bool:
    """Whether two outputs are the same up to rounding, which in a softmax of large scores is larger."""
    expected, got = expected.float(), got.float()
    largest = expected.nan_to_num(0, 0, 0).abs().max().item() if expected.numel() else 0.0
    rtol, atol = (1e-3, 3e-5 * max(1.0, largest)) if large else (1e-4, 3e-5)
    return expected.shape == got.shape and torch.allclose(expected, got, rtol, atol, equal_nan=True)


def values_match(expected: Any, got: Any) -> bool:
    """Whether two values of any kind are the same, numbers up to rounding, whatever holds them.

    Any two functions match: they cannot be compared.
    """
    expected, got = to_plain(expected), to_plain(got)
    if callable(expected) and callable(got):
        return True
    if are_numbers(expected, got):
        both_nan = expected != expected and got != got
        return math.isclose(expected, got, rel_tol=1e-4, abs_tol=1e-6) or both_nan
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        same_keys = expected.keys() == got.keys()
        return same_keys and all(values_match(expected[key], got[key]) for key in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(values_match, expected, got))
    return type(expected) is type(got) and expected == got


def is_unchanged(before: Any, after: Any) -> bool:
    """Whether an input of a call is still what it was; tensors to the last bit, wherever they are held."""
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        if (before.shape, before.dtype) != (after.shape, after.dtype):
            return False
        both_nan = before.isnan() & after.isnan()
        return bool(((before == after) | both_nan).all())
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(is_unchanged(before[key], after[key]) for key in before)
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and all(map(is_unchanged, before, after))
    return values_match(before, after)


def are_numbers(*values: Any) -> bool:
    plain_values = map(to_plain, values)
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in plain_values)


def to_plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers, tuples as lists."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


# ---- copying and formatting


def copy_value(value: Any) -> Any:
    """A copy that shares no list, dictionary or tensor with the value; other objects are not copied."""
    return _map_nested(lambda part: part.detach().clone() if isinstance(part, Tensor) else part, value)


def describe_type(value: Any) -> str:
    """The type of a value, with its shape if it has one.

    >>> describe_type([]), describe_type(np.ones((2, 3)))
    ('a list', 'a ndarray of shape (2, 3)')
    """
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor | np.ndarray) else ""
    return f"a {type(value).__name__}{shape}"


def format_value(value: Any) -> str:
    """A value as text of a few lines."""
    if callable(value):
        return "a function"
    if isinstance(value, Tensor):
        return rounded(value)
    text = pprint.pformat(_map_nested(_round_part, value), width=60, compact=True)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"


def _map_nested(function: Callable[[Any], Any], value: Any) -> Any:
    """The same lists, tuples and dictionaries anew, with `function` applied to everything else in them."""
    if type(value) in (list, tuple):
        return type(value)(_map_nested(function, item) for item in value)
    if type(value) is dict:
        return {key: _map_nested(function, item) for key, item in value.items()}
    return function(value)


def _round_part(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _map_nested(_round_part, value.tolist())
    return float(f"{value:.4g}") if isinstance(value, float) else value
