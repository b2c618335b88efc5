"""Slips that any function may have, derived from the reference: inputs swapped, ignored, transposed, doubled.

    >>> next(derive_slips(("x", "w"), torch.matmul, lambda: (torch.ones(2), torch.ones(2)))).message
    '`x` and `w` seem to be swapped.'

Each is the reference, called with changed inputs. So an exercise needs a slip of its own only if it has more
to say about the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_lib.teaching.exercises.answer import find_tensors, map_tensors

MOST_TENSORS = 20  # in dictionaries of weights: each is tried in every case


class DerivedSlip(NamedTuple):
    name: str
    wrong: Callable
    message: str
    misconception: None = None


def derive_slips(
    names: Sequence[str], reference: Callable, make_inputs: Callable[[], tuple]
) -> Iterator[DerivedSlip]:
    """Slips of a function whose inputs have these names; `make_inputs` makes an example of them."""
    example = make_inputs()
    for i, j in combinations(range(len(names)), 2):
        if type(example[i]) is type(example[j]):
            message = f"`{names[i]}` and `{names[j]}` seem to be swapped."
            yield DerivedSlip("swapped-inputs", _swap(reference, i, j), message)
    named = zip(names, example, strict=True)
    tensors = [pair for name, value in named for pair in find_tensors(value, name)][:MOST_TENSORS]
    for index, (path, tensor) in enumerate(tensors):
        ignored = f"`{path}` seems to have no effect."
        if tensor.dtype == torch.bool:
            yield DerivedSlip("input-ignored", _change(reference, index, torch.ones_like), ignored)
            inverted = f"`{path}` seems to be inverted: True and False are mixed up."
            yield DerivedSlip("input-inverted", _change(reference, index, torch.logical_not), inverted)
        elif tensor.is_floating_point():
            yield DerivedSlip("input-ignored", _change(reference, index, torch.zeros_like), ignored)
            twice = f"`{path}` seems to be counted twice."
            yield DerivedSlip("input-doubled", _change(reference, index, lambda t: 2 * t), twice)
            negative = f"`{path}` seems to be subtracted instead of added, or to have the wrong sign."
            yield DerivedSlip("input-negated", _change(reference, index, torch.neg), negative)
            if tensor.ndim > 1:
                transposed = f"`{path}` seems to be transposed, or should be."
                yield DerivedSlip("input-transposed", _change(reference, index, _transpose), transposed)
    for index, value in enumerate(example):
        if isinstance(value, float):
            ignored = f"`{names[index]}` seems to have no effect."
            yield DerivedSlip("input-ignored", _set(reference, index, 0.0), ignored)


def _swap(function: Callable, i: int, j: int) -> Callable:
    def with_swapped(*inputs: Any) -> Any:
        swapped = list(inputs)
        swapped[i], swapped[j] = inputs[j], inputs[i]
        return function(*swapped)

    return with_swapped


def _change(function: Callable, index: int, change: Callable[[Tensor], Tensor]) -> Callable:
    """The function, with one of all tensors in its inputs changed."""

    def with_changed(*inputs: Any) -> Any:
        count = iter(range(MOST_TENSORS**3))
        return function(
            *map_tensors(lambda tensor: change(tensor) if next(count) == index else tensor, inputs)
        )

    return with_changed


def _set(function: Callable, index: int, value: float) -> Callable:
    return lambda *inputs: function(*inputs[:index], value, *inputs[index + 1 :])


def _transpose(tensor: Tensor) -> Tensor:
    return tensor.mT.contiguous()
