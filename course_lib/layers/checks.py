"""Checks of shapes and dtypes that the layers make of their inputs.

    >>> check_same_width(torch.zeros(3, 16), torch.zeros(5, 8))
    Traceback (most recent call last):
    ValueError: This score is a dot product, so query and keys must have the same width, ...

Torch broadcasts axes until the shapes fit, so a bug can give a wrong result without an error. The checks use
only shapes and dtypes, never values, so they don't synchronise a GPU.
"""

from __future__ import annotations

import torch
from torch import Tensor


def check_query_and_keys(query: Tensor, keys: Tensor) -> None:
    """Both have the same number of axes, and the leading axes agree.

    A common mistake is a decoder state (batch, hidden) with encoder states (batch, src, hidden): torch would
    score `batch` queries against every sentence.
    """
    check_floating_point("query", query)
    check_floating_point("keys", keys)
    if query.ndim != keys.ndim or query.ndim < 2:
        raise ValueError(
            "Expected a query of shape (..., queries, query_dim) and keys of shape (..., keys, key_dim), "
            f"with the same number of axes, but got query {_shape(query)} and keys {_shape(keys)}. "
            "If there is one query per sentence, add an axis: query.unsqueeze(-2)."
        )
    _check_leading_axes("query", query, "keys", keys)


def check_same_width(query: Tensor, keys: Tensor) -> None:
    """A dot product needs a query and keys of the same width."""
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "This score is a dot product, so query and keys must have the same width, but the query is "
            f"{query.shape[-1]} wide and the keys are {keys.shape[-1]} wide. Project one of them, or use a "
            "score with weights that can compare different widths: general, additive or concat."
        )


def check_weight(name: str, weight: Tensor, axes: str, expected: tuple[int, ...]) -> None:
    """A weight matrix fits the widths of this query and these keys."""
    if weight.shape != expected:
        raise ValueError(
            f"Expected {name} of shape ({axes}) = {expected} for this query and these keys, "
            f"but got {_shape(weight)}. Is it transposed, or made for different widths?"
        )


def check_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """A mask is boolean and broadcasts to scores of this shape.

    A mask (batch, 1, keys) for scores (batch, heads, queries, keys) is an error: torch would treat its batch
    axis as heads. A float mask is an error too: torch's fused attention would add it to the scores.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"Expected mask to be boolean, True where a query may attend, but got {mask.dtype}. "
            "If 1 means attend, pass mask.bool(); if it is an additive mask of 0 and -inf, pass "
            "mask == 0."
        )
    aligned = zip(reversed(mask.shape), reversed(scores), strict=False)
    if (
        mask.ndim not in (2, len(scores))
        or mask.ndim > len(scores)
        or not all(size in (1, expected) for size, expected in aligned)
    ):
        raise ValueError(
            f"Expected mask to fit scores of shape {tuple(scores)}: either (queries, keys), or as many "
            f"axes as the scores, each of the same size or of size 1, but got {_shape(mask)}. "
            "If an axis is missing, add one of size 1: (batch, 1, keys) applies to every query, "
            "(batch, 1, 1, keys) to every head too."
        )


def check_keys_and_values(keys: Tensor, values: Tensor) -> None:
    """One value per key; only their widths may differ. Torch's fused attention would read past the end."""
    if keys.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            "Expected one value for each key, so that keys and values differ only in their widths, "
            f"but got keys {_shape(keys)} and values {_shape(values)}. "
            "Keys and values come in pairs: make both from the same positions."
        )


def check_weights_and_values(weights: Tensor, values: Tensor) -> None:
    """One value for every attention weight, because keys and values come in pairs."""
    check_floating_point("values", values)
    if values.ndim != weights.ndim or values.ndim < 2 or weights.shape[-1] != values.shape[-2]:
        raise ValueError(
            "Expected one value for each key: weights of shape (..., queries, keys) and values of shape "
            f"(..., keys, value_dim), but got weights {_shape(weights)} and values {_shape(values)}. "
            "Keys and values come in pairs: make both from the same positions."
        )
    _check_leading_axes("weights", weights, "values", values)


def check_floating_point(name: str, tensor: Tensor) -> None:
    """Integers have no softmax and no gradient."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"Expected {name} to contain floating-point numbers, but got {tensor.dtype}. "
            "Write 1.0 instead of 1 when you make the tensor, or call .float() on it."
        )


def _check_leading_axes(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    pairs = zip(tensor.shape[:-2], other.shape[:-2], strict=True)
    if not all(size == other_size or 1 in (size, other_size) for size, other_size in pairs):
        raise ValueError(
            f"Expected {name} and {other_name} to agree in all axes but the last two (equal, or 1), "
            f"but got {name} {_shape(tensor)} and {other_name} {_shape(other)}. "
            "Do they belong to the same batch, with the batch axis first?"
        )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)
