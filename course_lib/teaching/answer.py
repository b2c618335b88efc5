"""Read what a learner's function returned, however it is wrapped.

    >>> read([0.25, 0.75], {"weights": torch.float32}).remarks[0].slip
    'python-numbers'

A NumPy array or a float64 tensor can still hold the right numbers. So it is read, the numbers are judged,
and what is wrong with the wrapping is kept as a remark.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.teaching.values import plain
from course_lib.teaching.verdict import Verdict, listed, wrong

MOST_READ = 10**5  # numbers; no exercise asks for more


@dataclass(frozen=True, eq=False)
class Answer:
    """What was given: of a function of tensors, its outputs in order, as float32 on the CPU. `remarks` are
    what to put right although the numbers may be good."""

    given: Any
    remarks: tuple[Verdict, ...] = ()


def read(value: Any, wanted: Mapping[str, torch.dtype]) -> Answer | Verdict:
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
        found = f"It returned one {_kind(value)}; {len(names)} things are wanted: {wanted}."
        return wrong(found, last_line, "missing-output")
    if len(value) != len(names):
        found = f"It returned a {_kind(value)} of {len(value)}; {len(names)} things are wanted: {wanted}."
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
        slip, what = "python-numbers", f"Python {_kind(part)}"
        advice = "use `torch.stack(...)`, or `torch.tensor(...)` for plain numbers"
    else:
        return None, wrong(f"`{name}` is a {_kind(part)}; a torch tensor is wanted.", slip="wrong-type")
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


def _kind(value: Any) -> str:
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
