"""What a learner's function returned, in whatever container: read, copied and formatted.

    >>> read_outputs([0.25, 0.75], {"weights": torch.float32}).form_problems[0].slip
    'python-numbers'

A NumPy array or a float64 tensor can still hold the right numbers. So the numbers are judged, and what is
wrong with their form is reported separately.
"""

from __future__ import annotations

import inspect
import math
import pprint
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.formatting import counted, rounded, shape_text
from course_lib.teaching.exercises.verdict import Verdict, quote_names, with_article, wrong_verdict

MOST_OUTPUTS = 10
MOST_READ = 10**5  # numbers; no exercise asks for more
MOST_SHOWN = 600  # characters
PLAIN_REPRS = tuple(kind.__repr__ for kind in (object, FunctionType, BuiltinFunctionType, partial))  # long
MOST_NUMBERS = 30  # of a tensor within a list or dictionary
RETURNS_NONE = "Your function returned `None`. Did you forget `return`?"


@dataclass(frozen=True, eq=False)
class Answer:
    """`value` is what was returned; from a function of tensors, its outputs in order, as float32 on the CPU.
    `form_problems` must be fixed even if the numbers are right: container, dtype, inputs changed in place."""

    value: Any
    form_problems: tuple[Verdict, ...] = ()


# ---- reading the outputs of a function of tensors


def read_outputs(value: Any, dtypes: Mapping[str, torch.dtype]) -> Answer | Verdict:
    """The outputs, which should have these names and dtypes, or why they can't be read."""
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
        return wrong_verdict(RETURNS_NONE, last_line, "returns-none")
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
        headline = f"Expected {wanted}, but your function returned {with_article(type(value).__name__)}."
        advice = "Write it with plain `def` and `return`, without `async` and `yield`."
        return wrong_verdict(headline, advice, "wrong-type")
    if len(names) == 1 and isinstance(value, tuple):
        headline = f"Expected only {wanted}, but your function returned a tuple."
        comma = "A comma at the end of the `return` line makes a tuple. " if len(value) == 1 else ""
        return wrong_verdict(headline, comma + last_line, "tuple")
    if len(names) == 1:
        return [value]
    is_sequence = isinstance(value, tuple | list)
    if is_sequence and len(value) == len(names):
        return value
    returned = f"a single {_type_name(value)}"
    if is_sequence:
        returned = f"a {_type_name(value)} of length {len(value)}"
    headline = f"Expected {len(names)} outputs, {wanted}, but your function returned {returned}."
    return wrong_verdict(headline, last_line, "wrong-count" if is_sequence else "missing-output")


def _read_tensor(output: Any, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    """The output as a float32 tensor (None if that is impossible), and what is wrong with its form."""
    if _count_numbers(output) > MOST_READ:
        headline = f"`{name}` contains more than {MOST_READ:,} numbers, far more than expected."
        return None, wrong_verdict(headline, "Check the shapes in your function.", "too-large")
    if isinstance(output, Tensor):
        return _read_torch_tensor(output, name, dtype)
    if isinstance(output, np.ndarray | np.generic):
        slip, container, advice = (
            "numpy",
            "NumPy array",
            "use torch functions, or convert it with `torch.from_numpy(...)`",
        )
    elif isinstance(output, list | tuple | float | int):
        slip, container = "python-numbers", f"Python {_type_name(output)}"
        advice = "use `torch.stack(...)` for tensors, or `torch.tensor(...)` for plain numbers"
    else:
        headline = f"`{name}` should be a torch tensor, but it is {with_article(_type_name(output))}."
        return None, wrong_verdict(headline, slip="wrong-type")
    headline = f"`{name}` should be a torch tensor, but it is a {container}: {advice}."
    problem = wrong_verdict(headline, slip=slip)
    if isinstance(output, list | tuple):
        output = [to_plain(item) for item in output]
    try:
        return torch.as_tensor(np.array(output, dtype=np.float32), device="cpu"), problem
    except (TypeError, ValueError, RuntimeError, OverflowError):  # ragged lists, strings, objects
        return None, problem


def _read_torch_tensor(tensor: Tensor, name: str, dtype: torch.dtype) -> tuple[Tensor | None, Verdict | None]:
    if tensor.is_complex():
        headline = f"`{name}` should be {dtype}, but it contains complex numbers."
        return None, wrong_verdict(headline, slip="dtype")
    numbers = _dense(tensor.detach()).to(device="cpu", dtype=torch.float32).clone()
    if tensor.dtype == dtype:
        return numbers, None
    reason = ""
    if dtype == torch.float32:
        reason = " Integers and booleans lose everything after the decimal point."
        if tensor.is_floating_point():
            reason = " Keep the dtype of the inputs; NumPy and `.double()` switch to float64."
    headline = f"`{name}` should be {dtype}, but it is {tensor.dtype}.{reason}"
    return numbers, wrong_verdict(headline, slip="dtype")


def _type_name(value: Any) -> str:
    return "tensor" if isinstance(value, Tensor) else type(value).__name__


def _count_numbers(value: Any) -> int:
    """How many numbers it holds; in lists, counted no further than MOST_READ."""
    if not isinstance(value, list | tuple):
        return math.prod(value.shape) if isinstance(value, Tensor | np.ndarray) else 1
    total = 0
    for item in value:
        total += _count_numbers(item)
        if total > MOST_READ:
            break
    return total


# ---- copying and formatting


def copy_value(value: Any) -> Any:
    """A copy on the CPU that shares no list, dictionary or tensor with the value; other objects stay."""
    return map_tensors(lambda tensor: _dense(tensor.detach().cpu()).clone(), value)


def with_plain_tensors(value: Any) -> Any:
    """A returned tensor, or a few of them, without classes of the learner's own: these could answer the
    comparisons themselves."""
    if type(value) in (list, tuple) and len(value) <= MOST_OUTPUTS:
        return type(value)(map(with_plain_tensors, value))
    if not isinstance(value, Tensor) or type(value) in (Tensor, torch.nn.Parameter):
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(Tensor)


def _dense(tensor: Tensor) -> Tensor:
    """An ordinary tensor with the same numbers: sparse ones can't even be compared."""
    if tensor.is_nested:
        raise TypeError("a nested tensor has no single shape")
    return tensor.to_dense() if tensor.layout != torch.strided else tensor


def to_plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers, tuples as lists."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def find_tensors(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors in lists, tuples and dictionaries, each with its path: `parts['w_q']`, `layers[0]`."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in pairs:
            yield from find_tensors(item, f"{path}[{key!r}]")


def name_tensors(names: Sequence[str], inputs: Sequence[Any]) -> dict[str, Tensor]:
    """The tensors in the inputs of a call, by path, which begins with the input's name."""
    named = zip(names, inputs, strict=True)
    return dict(pair for name, value in named for pair in find_tensors(value, name))


TYPE_NAMES = {"str": "string", "ndarray": "NumPy array", "Tensor": "tensor", "Counter": "dict"}


def map_tensors(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """A copy of lists, tuples and dictionaries with `function` applied to each tensor in them."""
    return _map_nested(lambda part: function(part) if isinstance(part, Tensor) else part, value)


def describe_type(value: Any) -> str:
    """The type, with the shape or the length: "a list of 3 items", "a NumPy array of shape (2, 3)"."""
    if value is None:
        return "`None`"
    kind = with_article(TYPE_NAMES.get(type(value).__name__, type(value).__name__))
    if isinstance(value, Tensor | np.ndarray):
        return f"{kind} of shape {shape_text(value.shape)}"
    if isinstance(value, list | tuple) and value and all(isinstance(item, list | tuple) for item in value):
        return f"{kind} of {TYPE_NAMES.get(type(value[0]).__name__, type(value[0]).__name__)}s"
    return f"{kind} of {counted(len(value), 'item')}" if isinstance(value, list | tuple) else kind


def format_value(value: Any) -> str:
    if callable(value):
        return "a function" if type(value).__repr__ in PLAIN_REPRS else repr(value)
    if isinstance(value, Tensor):
        return rounded(value)
    text = pprint.pformat(_map_nested(_round_part, value), width=60, compact=True)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"


def assign_text(name: str, text: str) -> str:
    """`name = text`, with further lines indented to align."""
    return f"{name} = " + text.replace("\n", "\n" + " " * (len(name) + 3))


def _map_nested(function: Callable[[Any], Any], value: Any) -> Any:
    """New lists, tuples and dictionaries of the same kind, with `function` applied to everything in them."""
    if type(value) in (list, tuple):
        return type(value)(_map_nested(function, item) for item in value)
    if type(value) is dict:
        return {key: _map_nested(function, item) for key, item in value.items()}
    return function(value)


def _round_part(value: Any) -> Any:
    if isinstance(value, Tensor) and value.numel() > MOST_NUMBERS:
        return _Text(f"tensor of shape {shape_text(value.shape)}")
    if isinstance(value, Tensor):
        return _map_nested(_round_part, value.tolist())
    return float(f"{value:.4g}") if isinstance(value, float) else value


class _Text(str):
    """Text that is printed without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
