"""Numbers as text that is the same on every machine.

    >>> fixed([0.25, 2.0, -1e-9])
    '[0.250, 2.000, 0.000]'

A tensor's own `repr` is not: sums differ in the last bit from one CPU to another, and torch prints `1.` or
`1.0000` by that bit. So whatever a lesson stores, a notebook's output or a picture's text, goes through here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

MOST_SHOWN = 8  # rows or columns; what is longer ends in an ellipsis


def fixed(value: float | Sequence | Tensor, decimals: int = 3) -> str:
    """A number, a row or a matrix of them, each with so many decimals; whole numbers (int) as they are.

    >>> fixed(0.6666), fixed(torch.tensor([1.0, 0.99999999]), 2), fixed([3, 4])
    ('0.667', '[1.00, 1.00]', '[3, 4]')
    """
    tensor = value.detach().cpu() if isinstance(value, Tensor) else torch.tensor(value)
    if not isinstance(value, Tensor) and tensor.is_floating_point():
        tensor = torch.tensor(value, dtype=torch.float64)
    if tensor.ndim > 2:
        raise ValueError(
            f"Expected a number, a row or a matrix, but got the shape {shape_text(tensor.shape)}. "
            "Choose a part of it."
        )
    return _text(tensor, decimals if tensor.is_floating_point() else 0, most=max([*tensor.shape, 1]))


def significant(value: float, digits: int = 3) -> str:
    """A number of any size in so many digits.

    >>> significant(0.00016161), significant(1234.5), significant(-0.0)
    ('0.000162', '1.23e+03', '0')
    """
    return f"{float(value):z.{digits}g}"


def counted(n: int, what: str) -> str:
    """How many there are, in words.

    >>> counted(1, "step"), counted(4000, "step")
    ('1 step', '4,000 steps')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def minus(text: str) -> str:
    """A number's text with a true minus sign, and no minus before nothing: "-0.00" is "0.00"."""
    if text.startswith("-") and not text.strip("-0."):
        return text[1:]
    return text.replace("-", "−")


def rounded(tensor: Tensor, decimals: int | None = None, matrix: int = 0) -> str:
    """A tensor in short: of a long one the beginning, of one with more than two axes one matrix.

    >>> rounded(torch.tensor([2.0, 4.0, 6.0])), rounded(torch.tensor([2.0, 4.5]))
    ('[2, 4, 6]', '[2.000, 4.500]')
    """
    tensor = tensor.detach().cpu()
    decimals = _decimals(tensor) if decimals is None else decimals
    if tensor.ndim > 2 and tensor.numel():
        text = rounded(tensor.reshape(-1, *tensor.shape[-2:])[matrix], decimals)
        place = [int(index) for index in np.unravel_index(matrix, tensor.shape[:-2])]  # torch's loads sympy
        which = f"matrix {place}" if matrix else "the first matrix"
        return f"{shape_text(tensor.shape)}, of which {which}:\n{text}"
    return _text(tensor, decimals, most=MOST_SHOWN)


def rounded_apart(expected: Tensor, got: Tensor) -> tuple[str, str]:
    """Two tensors in words, with as many decimals as it takes to see that they differ.

    Of more than two axes the matrix is shown in which they are farthest apart.
    """
    fewest = max(_decimals(expected), _decimals(got))
    matrix = _farthest(expected, got) if expected.ndim > 2 and expected.shape == got.shape else 0
    for decimals in range(fewest, 7):
        texts = rounded(expected, decimals, matrix), rounded(got, decimals, matrix)
        if texts[0] != texts[1]:
            return texts
    gap = (expected.double() - got.double()).abs().max().item()
    return texts[0], f"{texts[1]}\n(farthest apart: {gap:.1e})"


def shape_text(shape: tuple[int, ...] | torch.Size) -> str:
    """A shape as Python writes a tuple: `(3, 5)`, `(4,)`, `()`."""
    return str(tuple(shape))


def _farthest(one: Tensor, other: Tensor) -> int:
    """The matrix, counted along all axes but the last two, in which two tensors differ most."""
    one, other = one.detach().cpu().double(), other.detach().cpu().double()
    gaps = torch.where(one == other, 0.0, (one - other).abs().nan_to_num(torch.inf))
    return int(gaps.flatten(-2).amax(-1).argmax()) if gaps.numel() else 0


def _decimals(tensor: Tensor) -> int:
    """0 where all are whole to three decimals, else 3; whole to the last bit would differ between CPUs."""
    if not tensor.is_floating_point():
        return 0
    finite = tensor[tensor.isfinite()].double()
    return 0 if bool(((finite - finite.round()).abs() < 0.0005).all()) else 3


def _text(tensor: Tensor, decimals: int, most: int) -> str:
    words = _words(tensor, decimals, most)
    if isinstance(words, str):
        return words
    if not words or isinstance(words[0], str):
        return _row(words, tensor.numel())
    width = max((len(word) for row in words for word in row), default=0)
    rows = [_row([word.rjust(width) for word in row], tensor.shape[1]) for row in words]
    if tensor.shape[0] > most:
        rows.append("…")
    return "[" + ",\n ".join(rows) + "]"


def _words(tensor: Tensor, decimals: int, most: int) -> str | list:
    if tensor.ndim:
        return [_words(part, decimals, most) for part in tensor[:most]]
    value = tensor.item()
    return str(value) if isinstance(value, bool | complex) else _number(float(value), decimals)


def _number(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e6:
        return f"{value:.3e}"
    return f"{value:z.{decimals}f}"  # z: no "-0.000"


def _row(words: list[str], length: int) -> str:
    more = ["…"] if length > len(words) else []
    return "[" + ", ".join([*words, *more]) + "]"
