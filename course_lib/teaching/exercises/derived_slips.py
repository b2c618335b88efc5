"""Slips that any function may have, derived from the reference: inputs swapped, ignored, transposed, doubled.

    >>> next(derive_slips(("x", "w"), torch.matmul, (torch.ones(2), torch.ones(2)))).message
    '`x` and `w` seem to be swapped.'

Each is the reference, called with changed inputs. So an exercise needs a slip of its own only if it has more
to say about the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_lib.teaching.exercises.answer import find_tensors, map_tensors, name_tensors
from course_lib.teaching.exercises.exercise import Slip

MOST_TENSORS = 20  # in dictionaries of weights: each is tried in every case
LARGEST_SWAPPED = 100


def derive_slips(names: Sequence[str], reference: Callable, example: tuple) -> Iterator[Slip]:
    """Slips of a function whose inputs have these names; the `example` shows which of them are tensors."""
    for i, j in combinations(range(len(names)), 2):
        if type(example[i]) is type(example[j]) and not _is_large(example[i], example[j]):
            message = f"`{names[i]}` and `{names[j]}` seem to be swapped."
            yield Slip("swapped-inputs", _swap(reference, i, j), message)
    tensors = list(name_tensors(names, example).items())[:MOST_TENSORS]
    for path, tensor in tensors:

        def change(change_tensor: Callable[[Tensor], Tensor], path: str = path) -> Callable:
            return _change(reference, names, path, change_tensor)

        ignored = f"`{path}` seems to have no effect."
        if tensor.dtype == torch.bool:
            yield Slip("input-ignored", change(torch.ones_like), ignored)
            inverted = f"`{path}` seems to be inverted: True and False are mixed up."
            yield Slip("input-inverted", change(torch.logical_not), inverted)
        elif tensor.is_floating_point():
            yield Slip("input-ignored", change(torch.zeros_like), ignored)
            twice = f"`{path}` seems to be multiplied by 2, or added twice."
            yield Slip("input-doubled", change(lambda tensor: 2 * tensor), twice)
            negative = f"`{path}` seems to have the wrong sign."
            yield Slip("input-negated", change(torch.neg), negative)
            if tensor.ndim > 1:
                transposed = f"a transpose of `{path}` seems to be missing or unnecessary."
                yield Slip("input-transposed", change(_transpose), transposed)
                reshaped = (
                    f"`{path}` seems to be reshaped where it should be transposed: that mixes up its rows."
                )
                yield Slip("input-reshaped", change(_reshape), reshaped)
    for index, value in enumerate(example):
        if isinstance(value, float):
            ignored = f"`{names[index]}` seems to have no effect."
            yield Slip("input-ignored", _set(reference, index, 0.0), ignored)


def _is_large(*values: Any) -> bool:
    """Numbers that a function may count up to: swapped, they might take forever."""
    return any(isinstance(value, int) and abs(value) > LARGEST_SWAPPED for value in values)


def count_tensors(inputs: tuple) -> int:
    return sum(1 for _ in find_tensors(inputs, ""))


def _swap(function: Callable, i: int, j: int) -> Callable:
    def with_swapped(*inputs: Any) -> Any:
        swapped = list(inputs)
        swapped[i], swapped[j] = inputs[j], inputs[i]
        return function(*swapped)

    return with_swapped


def _change(
    function: Callable, names: Sequence[str], path: str, change: Callable[[Tensor], Tensor]
) -> Callable:
    """The function, with one of the tensors in its inputs changed."""

    def with_changed(*inputs: Any) -> Any:
        chosen = name_tensors(names, inputs).get(path)
        return function(*map_tensors(lambda tensor: change(tensor) if tensor is chosen else tensor, inputs))

    return with_changed


def _set(function: Callable, index: int, value: float) -> Callable:
    return lambda *inputs: function(*inputs[:index], value, *inputs[index + 1 :])


def _transpose(tensor: Tensor) -> Tensor:
    return tensor.mT.contiguous()


def _reshape(tensor: Tensor) -> Tensor:
    """What is a transpose only in shape, transposed back."""
    return tensor.reshape(tensor.mT.shape).mT
