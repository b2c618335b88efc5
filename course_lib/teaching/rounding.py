"""Small tensors as short text, rounded: the same on every machine.

>>> print(rounded(torch.tensor([[0.25, 0.75], [0.5, 0.5]])))
[[0.250, 0.750],
 [0.500, 0.500]]
>>> rounded(torch.tensor([2.0, 4.0, 6.0]))
'[2, 4, 6]'
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

MOST_SHOWN = 8  # rows or columns; what is longer ends in an ellipsis


def rounded(tensor: Tensor, decimals: int | None = None) -> str:
    """A tensor with each number rounded; of one with more than two axes, the first matrix."""
    tensor = tensor.detach().cpu()
    decimals = _decimals(tensor) if decimals is None else decimals
    if tensor.ndim > 2 and tensor.numel():
        first = rounded(tensor.reshape(-1, *tensor.shape[-2:])[0], decimals)
        return f"{shape_text(tensor.shape)}, of which the first matrix:\n{first}"
    words = _words(tensor, decimals)
    if isinstance(words, str):
        return words
    if not words or isinstance(words[0], str):
        return _row(words, tensor.numel())
    width = max((len(word) for row in words for word in row), default=0)
    rows = [_row([word.rjust(width) for word in row], tensor.shape[1]) for row in words]
    if tensor.shape[0] > MOST_SHOWN:
        rows.append("…")
    return "[" + ",\n ".join(rows) + "]"


def rounded_apart(expected: Tensor, got: Tensor) -> tuple[str, str]:
    """Two tensors in words, with as many decimals as it takes to see that they differ."""
    fewest = max(_decimals(expected), _decimals(got))
    for decimals in range(fewest, 7):
        texts = rounded(expected, decimals), rounded(got, decimals)
        if texts[0] != texts[1]:
            return texts
    gap = (expected.double() - got.double()).abs().max().item()
    return texts[0], f"{texts[1]}\n(farthest apart: {gap:.1e})"


def shape_text(shape: tuple[int, ...] | torch.Size) -> str:
    """A shape as Python writes a tuple: `(3, 5)`, `(4,)`, `()`."""
    return str(tuple(shape))


def _decimals(tensor: Tensor) -> int:
    whole = not tensor.is_floating_point() or bool((tensor == tensor.round()).all())
    return 0 if whole else 3


def _words(tensor: Tensor, decimals: int) -> str | list:
    if tensor.ndim:
        return [_words(part, decimals) for part in tensor[:MOST_SHOWN]]
    value = tensor.item()
    return str(value) if isinstance(value, bool | complex) else _number(float(value), decimals)


def _number(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e6:
        return f"{value:.3e}"
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text  # no "-0.000"


def _row(words: list[str], length: int) -> str:
    more = ["…"] if length > len(words) else []
    return "[" + ", ".join([*words, *more]) + "]"
