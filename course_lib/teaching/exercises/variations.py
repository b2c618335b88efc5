"""Harder inputs, derived from ordinary ones: large, tiny, equal and zero numbers, and an all-True mask.

    >>> [variation.name for variation in VARIATIONS]
    ['large', 'tiny', 'equal', 'zero', 'unmasked']

They are stated here once for every kind of input, so that an exercise needn't list them. Only tensors that
are inputs themselves are varied, not the weights in a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Variation:
    """`change` varies a tensor. `says` completes "Correct for ordinary inputs, but not for …"."""

    name: str
    says: str
    change: Callable[[Tensor], Tensor]
    scaled: bool = False  # whether the error is compared with the size of the numbers


def scale_up(factor: float, tensor: Tensor) -> Tensor:
    """Whole numbers: sums of their products are exact, in any order of addition."""
    return (tensor * factor).round() if tensor.is_floating_point() else tensor


def _shrink(tensor: Tensor) -> Tensor:
    return tensor * 1e-3 if tensor.is_floating_point() else tensor


def _repeat_first(tensor: Tensor) -> Tensor:
    """All rows equal to the first; in a vector, all elements. A mask remains."""
    if tensor.dtype == torch.bool or not tensor.numel() or not tensor.ndim:
        return tensor
    first = tensor[..., :1, :] if tensor.ndim > 1 else tensor[:1]
    return first.expand(tensor.shape).clone()


def _set_to_zero(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.is_floating_point() else tensor


def _unmask(tensor: Tensor) -> Tensor:
    return torch.ones_like(tensor) if tensor.dtype == torch.bool else tensor


def enlarge(factor: float) -> Variation:
    return Variation("large", "large numbers", partial(scale_up, factor), scaled=True)


VARIATIONS = (
    enlarge(100.0),
    Variation("tiny", "tiny numbers", _shrink, scaled=True),
    Variation("equal", "rows that are all equal", _repeat_first),
    Variation("zero", "zeros", _set_to_zero),
    Variation("unmasked", "a mask without any False", _unmask),
)
NAMES = tuple(variation.name for variation in VARIATIONS)


def vary(
    inputs: tuple[Any, ...], names: tuple[str, ...] = NAMES, variations: tuple[Variation, ...] = VARIATIONS
) -> Iterator[tuple[Variation, tuple[Any, ...]]]:
    """Each variation that changes these inputs, with the changed inputs."""
    for variation in variations:
        varied = tuple(variation.change(value) if isinstance(value, Tensor) else value for value in inputs)
        pairs = [pair for pair in zip(inputs, varied, strict=True) if isinstance(pair[0], Tensor)]
        if variation.name in names and not all(torch.equal(*pair) for pair in pairs):
            yield variation, varied
