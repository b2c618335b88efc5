"""What the layers insist on about their inputs, and what they say when it is not so.

    >>> check_same_width(torch.zeros(3, 16), torch.zeros(5, 8))
    Traceback (most recent call last):
    ValueError: This score multiplies query and key number by number, so it expects one width, ...

Torch is generous: it stretches axes until the shapes fit, so a slip can turn into a wrong answer
without an error. The layers are stricter wherever stretching is more likely a slip than a wish.
The checks read shapes and dtypes, never the numbers: they cost a few microseconds and no GPU waits.
"""

from __future__ import annotations

import torch
from torch import Tensor


def check_query_and_keys(query: Tensor, keys: Tensor) -> None:
    """As many axes in both, and those in front agree.

    The usual slip is a decoder state (batch, hidden) against encoder states (batch, src, hidden):
    torch would take it for `batch` queries, all asked of every sentence.
    """
    check_decimal("query", query)
    check_decimal("keys", keys)
    if query.ndim != keys.ndim or query.ndim < 2:
        raise ValueError(
            "Expected a query of shape (..., queries, query_dim) and keys of shape (..., keys, key_dim), "
            f"with as many axes in both, but got query {_shape(query)} and keys {_shape(keys)}. "
            "If there is one query for each sentence, give it an axis: query.unsqueeze(-2)."
        )
    _check_front("query", query, "keys", keys)


def check_same_width(query: Tensor, keys: Tensor) -> None:
    """A product of query and key needs as many numbers in the one as in the other."""
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "This score multiplies query and key number by number, so it expects one width, but the query is "
            f"{query.shape[-1]} wide and the keys are {keys.shape[-1]} wide. Project one of them, or take a "
            "score that learns to compare two widths: general, additive or concat."
        )


def check_weight(name: str, weight: Tensor, axes: str, expected: tuple[int, ...]) -> None:
    """A weight has the size that this query and these keys ask for."""
    if weight.shape != expected:
        raise ValueError(
            f"Expected {name} of shape ({axes}) = {expected} for this query and these keys, "
            f"but got {_shape(weight)}. Is it turned round, or made for other widths?"
        )


def check_may_look(may_look: Tensor, scores: tuple[int, ...]) -> None:
    """A mask is boolean and lies on scores of this shape without stretching them.

    Either it has just the axes (queries, keys), or as many as the scores. So a mask (batch, 1, keys)
    on scores (batch, heads, queries, keys) is refused: torch would read its batch axis as heads.
    A float mask is refused too: torch's fused attention would add it to the scores.
    """
    if may_look.dtype != torch.bool:
        raise TypeError(
            f"Expected may_look to be boolean, True where a query may look, but got {may_look.dtype}. "
            "If 1 means look, pass may_look.bool(); if it is 0 and -inf, to be added, pass may_look == 0."
        )
    aligned = zip(reversed(may_look.shape), reversed(scores), strict=False)
    if (
        may_look.ndim not in (2, len(scores))
        or may_look.ndim > len(scores)
        or not all(size in (1, wanted) for size, wanted in aligned)
    ):
        raise ValueError(
            f"Expected may_look to fit scores of shape {tuple(scores)}: either (queries, keys), or as many "
            f"axes as the scores, each of the same size or 1. But got {_shape(may_look)}. "
            "If it lacks an axis, give it one of size 1: (batch, 1, keys) serves every query, "
            "(batch, 1, 1, keys) every head too."
        )


def check_same_length(query: Tensor, keys: Tensor) -> None:
    """Where positions are compared, or counted from left to right, each has a query and a key."""
    if query.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "Expected as many queries as keys, for both are the positions of one sentence, "
            f"but got {query.shape[-2]} queries and {keys.shape[-2]} keys."
        )


def check_keys_and_values(keys: Tensor, values: Tensor) -> None:
    """A value for each key; only their widths may differ. Torch's fused attention would read past the end."""
    if keys.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            "Expected one value for each key, so that keys and values differ in their widths alone, "
            f"but got keys {_shape(keys)} and values {_shape(values)}. "
            "Keys and values come in pairs: make both from the same positions."
        )


def check_weights_and_values(weights: Tensor, values: Tensor) -> None:
    """One value for every weight: keys and values come in pairs."""
    check_decimal("values", values)
    if values.ndim != weights.ndim or values.ndim < 2 or weights.shape[-1] != values.shape[-2]:
        raise ValueError(
            "Expected one value for each key: weights of shape (..., queries, keys) and values of shape "
            f"(..., keys, value_dim), but got weights {_shape(weights)} and values {_shape(values)}. "
            "Keys and values come in pairs: make both from the same positions."
        )
    _check_front("weights", weights, "values", values)


def check_decimal(name: str, tensor: Tensor) -> None:
    """Whole numbers have no softmax and no gradient."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"Expected {name} to hold decimal numbers, but got {tensor.dtype}. "
            "Write 1.0 in place of 1 when you make the tensor, or call .float() on it."
        )


def _check_front(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    pairs = zip(tensor.shape[:-2], other.shape[:-2], strict=True)
    if not all(size == wanted or 1 in (size, wanted) for size, wanted in pairs):
        raise ValueError(
            f"Expected {name} and {other_name} to agree in the axes before the last two (equal, or 1), "
            f"but got {name} {_shape(tensor)} and {other_name} {_shape(other)}. "
            "Are they of the same batch, with the batch axis first?"
        )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)
