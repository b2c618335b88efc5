"""What a learner's function returned: read however it is wrapped, compared, copied, and shown in a few lines.

    >>> read_outputs([0.25, 0.75], {"weights": torch.float32}).remarks[0].slip
    'python-numbers'
    >>> same({"a": [1, 2.0]}, {"a": (1, np.float32(2))}), same([1, 2], [1, 3])
    (True, False)

A NumPy array or a float64 tensor can still hold the right numbers. So it is read, the numbers are judged,
and what is wrong with the wrapping is kept as a remark.
"""

from __future__ import annotations

import inspect
import math
import pprint
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.formatting import rounded
from course_lib.teaching.exercises.verdict import Verdict, listed, wrong

MOST_READ = 10**5  # numbers; no exercise asks for more
MOST_SHOWN = 600  # characters


@dataclass(frozen=True, eq=False)
class Answer:
    """What was given: of a function of tensors, its outputs in order, as float32 on the CPU. `remarks` are
    what to put right although the numbers may be good."""

    given: Any
    remarks: tuple[Verdict, ...] = ()


def read_outputs(value: Any, wanted: Mapping[str, torch.dtype]) -> Answer | Verdict:
    """The outputs, each by its name and type, or why they cannot be read."""
    parts = _parts(value, list(wanted))
    if isinstance(parts, Verdict):
        return parts
    tensors, remarks = [], []
    for (name, dtype), part in zip(wanted.items(), parts, strict=True):
        tensor, remark = _tensor(part, name, dtype)
        if tensor is None:
            return remark
        tensors.append(tensor)
        remarks += [remark] if remark else []
    return Answer(tuple(tensors), tuple(remarks))


def _parts(value: Any, names: Sequence[str]) -> Sequence | Verdict:
    wanted, last_line = listed(names), f"The last line should be `return {', '.join(names)}`."
    if value is None:
        return wrong("It returned `None`: did you forget `return`?", last_line, "returns-none")
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
        advice = "Write it with `def` and `return`, without `async` and without `yield`."
        return wrong(f"It returned a {type(value).__name__}, not {wanted}.", advice, "wrong-type")
    if len(names) == 1 and isinstance(value, tuple):
        comma = "A comma at the end of the `return` line makes a tuple. " if len(value) == 1 else ""
        return wrong(f"It returned a tuple; {wanted} alone is wanted.", comma + last_line, "tuple")
    if len(names) == 1:
        return [value]
    if not isinstance(value, tuple | list):
        found = f"It returned one {_type_name(value)}; {len(names)} things are wanted: {wanted}."
        return wrong(found, last_line, "missing-output")
    if len(value) != len(names):
        what = f"a {_type_name(value)} of {len(value)}"
        found = f"It returned {what}; {len(names)} things are wanted: {wanted}."
        return wrong(found, last_line, "wrong-count")
    return value


def _tensor(part: Any, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    """The part as a float32 tensor (None if that cannot be), and what to say about its wrapping."""
    if _size(part) > MOST_READ:
        return None, wrong(f"`{name}` holds more than 100000 numbers: far too many.", slip="too-large")
    if isinstance(part, Tensor):
        return _from_torch(part, name, dtype)
    if isinstance(part, np.ndarray | np.generic):
        slip, what, advice = "numpy", "NumPy array", "stay in torch, or use `torch.from_numpy(...)`"
    elif isinstance(part, list | tuple | float | int):
        slip, what = "python-numbers", f"Python {_type_name(part)}"
        advice = "use `torch.stack(...)`, or `torch.tensor(...)` for plain numbers"
    else:
        return None, wrong(f"`{name}` is a {_type_name(part)}; a torch tensor is wanted.", slip="wrong-type")
    remark = wrong(f"`{name}` is a {what}; a torch tensor is wanted: {advice}.", slip=slip)
    if isinstance(part, list | tuple):
        part = [plain(item) for item in part]
    try:
        return torch.as_tensor(np.array(part, dtype=np.float32), device="cpu"), remark
    except (TypeError, ValueError, RuntimeError, OverflowError):  # ragged lists, strings, objects
        return None, remark


def _from_torch(tensor: Tensor, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    if tensor.is_complex():
        return None, wrong(f"`{name}` holds complex numbers; {dtype} is wanted.", slip="dtype")
    read = tensor.detach()
    read = read.to_dense() if read.layout != torch.strided else read
    read = read.to(device="cpu", dtype=torch.float32).clone()
    if tensor.dtype == dtype:
        return read, None
    why = ""
    if dtype == torch.float32:
        why = ": whole numbers and truth values lose what comes after the point"
        if tensor.is_floating_point():
            why = ": the inputs' own type. NumPy and `.double()` bring in float64"
    return read, wrong(f"`{name}` is {tensor.dtype}; {dtype} is wanted{why}.", slip="dtype")


def _type_name(value: Any) -> str:
    return "tensor" if isinstance(value, Tensor) else type(value).__name__


def _size(part: Any) -> int:
    """How many numbers it holds, counted no farther than needed."""
    if isinstance(part, Tensor):
        return part.numel()
    if isinstance(part, np.ndarray):
        return part.size
    if not isinstance(part, list | tuple):
        return 1
    total = 0
    for item in part:
        total += _size(item)
        if total > MOST_READ:
            break
    return total


# ---- two values, alike or not


def agree(one: Tensor, other: Tensor, *, large: bool = False) -> bool:
    """Whether two outputs are the same but for rounding, which in a softmax of large scores is larger."""
    one, other = one.float(), other.float()
    largest = one.nan_to_num(0, 0, 0).abs().max().item() if one.numel() else 0.0
    rtol, atol = (1e-3, 3e-5 * max(1.0, largest)) if large else (1e-4, 3e-5)
    return one.shape == other.shape and torch.allclose(one, other, rtol, atol, equal_nan=True)


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


def plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers, tuples as lists."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


# ---- copied, and as text


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
