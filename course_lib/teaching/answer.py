"""Read what a learner's function returned, however it is wrapped.

    >>> read([0.25, 0.75], ["weights"]).remarks[0].slip
    'python-numbers'

A NumPy array or a float64 tensor can still hold the right numbers. So it is read, the numbers are judged,
and what is wrong with the wrapping is kept as a remark.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: the name of the slip, what is so, why it may be so."""

    slip: str | None
    headline: str
    details: str = ""
    given: str = ""
    expected: str = ""
    got: str = ""
    misconception: str | None = None
    not_tried: bool = False


@dataclass(frozen=True)
class Remark:
    """Something to put right although the numbers may be good."""

    slip: str
    message: str


@dataclass(frozen=True, eq=False)
class Answer:
    """The outputs as float32 tensors on the CPU, in the order the exercise names them."""

    outputs: tuple[Tensor, ...]
    remarks: tuple[Remark, ...] = ()


def read(value: Any, names: Sequence[str]) -> Answer | Problem:
    """The outputs called `names`, or why they cannot be read."""
    parts = _parts(value, names)
    if isinstance(parts, Problem):
        return parts
    tensors, remarks = [], []
    for name, part in zip(names, parts, strict=True):
        tensor, remark = _tensor(part, name)
        if tensor is None:
            return Problem(remark.slip, remark.message)
        tensors.append(tensor)
        remarks += [remark] if remark else []
    return Answer(tuple(tensors), tuple(remarks))


def listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    *most, last = [f"`{name}`" for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def _parts(value: Any, names: Sequence[str]) -> Sequence | Problem:
    wanted, last_line = listed(names), f"The last line should be `return {', '.join(names)}`."
    if value is None:
        return Problem("returns-none", "It returned `None`: did you forget `return`?", last_line)
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
        return Problem(
            "wrong-type",
            f"It returned a {type(value).__name__}, not {wanted}.",
            "Write it with `def` and `return`, without `async` and without `yield`.",
        )
    if len(names) == 1 and isinstance(value, tuple):
        comma = "A comma at the end of the `return` line makes a tuple. " if len(value) == 1 else ""
        return Problem("tuple", f"It returned a tuple; {wanted} alone is wanted.", comma + last_line)
    if len(names) == 1:
        return [value]
    if not isinstance(value, tuple | list):
        found = f"It returned one {_kind(value)}; {len(names)} things are wanted: {wanted}."
        return Problem("missing-output", found, last_line)
    if len(value) != len(names):
        found = f"It returned a {_kind(value)} of {len(value)}; {len(names)} things are wanted: {wanted}."
        return Problem("wrong-count", found, last_line)
    return value


def _tensor(part: Any, name: str) -> tuple[Tensor | None, Remark | None]:
    """The part as a float32 tensor (None if that cannot be), and what to say about its wrapping."""
    if isinstance(part, Tensor):
        return _from_torch(part, name)
    if isinstance(part, np.ndarray | np.generic):
        advice = "stay in torch, or use `torch.from_numpy(...)`."
        remark = Remark("numpy", f"`{name}` is a NumPy array; a torch tensor is wanted: {advice}")
        return _from_numbers(part, remark)
    if isinstance(part, list | tuple | float | int):
        advice = "use `torch.tensor(...)` or `torch.stack(...)`."
        remark = Remark(
            "python-numbers", f"`{name}` is a Python {_kind(part)}; a torch tensor is wanted: {advice}"
        )
        return _from_numbers(part, remark)
    return None, Remark("wrong-type", f"`{name}` is a {_kind(part)}; a torch tensor is wanted.")


def _from_torch(tensor: Tensor, name: str) -> tuple[Tensor | None, Remark | None]:
    if tensor.is_complex():
        return None, Remark("dtype", f"`{name}` holds complex numbers; torch.float32 is wanted.")
    plain = tensor.detach()
    plain = plain.to_dense() if plain.layout != torch.strided else plain
    plain = plain.to(device="cpu", dtype=torch.float32).clone()
    if tensor.dtype == torch.float32:
        return plain, None
    why = {
        True: "the inputs' own type. NumPy and `.double()` bring in float64.",
        False: "whole numbers and truth values lose what comes after the point.",
    }[tensor.is_floating_point()]
    return plain, Remark("dtype", f"`{name}` is {tensor.dtype}; torch.float32 is wanted: {why}")


def _from_numbers(part: Any, remark: Remark) -> tuple[Tensor | None, Remark]:
    if isinstance(part, list | tuple):
        part = [item.detach().cpu().tolist() if isinstance(item, Tensor) else item for item in part]
    try:
        return torch.as_tensor(np.array(part, dtype=np.float32), device="cpu"), remark
    except (TypeError, ValueError, RuntimeError):  # ragged lists, strings, objects
        return None, remark


def _kind(value: Any) -> str:
    return "tensor" if isinstance(value, Tensor) else type(value).__name__
