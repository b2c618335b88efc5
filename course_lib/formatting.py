"""Numbers as text that is the same on every machine.

    >>> fixed([0.25, 2.0, -1e-9])
    '[0.250, 2.000, 0.000]'

A tensor's own `repr` differs: sums differ in the last bit from one CPU to another, and torch prints `1.` or
`1.0000` depending on that bit. So the output of a notebook and the text in a figure are formatted here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

MOST_SHOWN = 8  # rows or columns; an ellipsis replaces the rest
MOST_MATRICES = 2


def fixed(value: float | Sequence | Tensor, decimals: int = 3) -> str:
    """A number, a vector or a matrix with this many decimals; integers as they are.

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
    """A number with this many significant digits.

    >>> significant(0.00016161), significant(1234.5), significant(-0.0)
    ('0.000162', '1.23e+03', '0')
    """
    return f"{float(value):z.{digits}g}"


def counted(n: int, noun: str) -> str:
    """A number with its noun in the singular or plural.

    >>> counted(1, "step"), counted(4000, "step")
    ('1 step', '4,000 steps')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def minus(text: str) -> str:
    """A number's text with a true minus sign, which a zero loses: "-0.00" becomes "0.00"."""
    if text.startswith("-") and not text.strip("-0."):
        return text[1:]
    return text.replace("-", "−")


def rounded(tensor: Tensor, decimals: int | None = None, matrix: int = 0) -> str:
    """The beginning of a tensor; if it consists of more than two matrices, one of them.

    >>> rounded(torch.tensor([2.0, 4.0, 6.0])), rounded(torch.tensor([2.0, 4.5]))
    ('[2, 4, 6]', '[2.000, 4.500]')
    """
    tensor = tensor.detach().cpu()
    decimals = _decimals(tensor) if decimals is None else decimals
    if tensor.ndim > 2 and not tensor.numel():
        return f"shape {shape_text(tensor.shape)}"
    matrices = tensor.reshape(-1, *tensor.shape[-2:]) if tensor.ndim > 2 else tensor[None]
    if tensor.ndim > 2 and len(matrices) <= MOST_MATRICES:
        text = "\n\n".join(rounded(matrix, decimals) for matrix in matrices)
        return f"shape {shape_text(tensor.shape)}:\n{text}"
    if tensor.ndim > 2:
        text = rounded(matrices[matrix], decimals)
        index = [int(i) for i in np.unravel_index(matrix, tensor.shape[:-2])]  # torch's version loads sympy
        which = f"matrix {index}" if matrix else "first matrix"
        return f"shape {shape_text(tensor.shape)}, {which}:\n{text}"
    return _text(tensor, decimals, most=MOST_SHOWN)


def rounded_apart(expected: Tensor, got: Tensor) -> tuple[str, str]:
    """Two tensors as text, with enough decimals to show a difference.

    If they have more than two axes, the matrix that differs most is shown.
    """
    fewest = max(_decimals(expected), _decimals(got))
    matrix = _most_different(expected, got) if expected.ndim > 2 and expected.shape == got.shape else 0
    for decimals in range(fewest, 7):
        texts = rounded(expected, decimals, matrix), rounded(got, decimals, matrix)
        if texts[0] != texts[1]:
            return texts
    gap = (expected.double() - got.double()).abs().max().item()
    return texts[0], f"{texts[1]}\n(largest difference: {gap:.1e})"


def shape_text(shape: tuple[int, ...] | torch.Size) -> str:
    """A shape as Python writes a tuple: `(3, 5)`, `(4,)`, `()`."""
    return str(tuple(shape))


def _most_different(expected: Tensor, got: Tensor) -> int:
    """The index of the matrix, counted along all axes but the last two, in which two tensors differ most."""
    expected, got = expected.detach().cpu().double(), got.detach().cpu().double()
    gaps = torch.where(expected == got, 0.0, (expected - got).abs().nan_to_num(torch.inf))
    return int(gaps.flatten(-2).amax(-1).argmax()) if gaps.numel() else 0


def _decimals(tensor: Tensor) -> int:
    """0 if all numbers are whole to three decimals, else 3. Their last bits differ between CPUs."""
    if not tensor.is_floating_point():
        return 0
    finite = tensor[tensor.isfinite()].double()
    return 0 if bool(((finite - finite.round()).abs() < 0.0005).all()) else 3


def _text(tensor: Tensor, decimals: int, most: int) -> str:
    if tensor.ndim == 0:
        return _number(tensor.item(), decimals)
    if tensor.ndim == 1:
        return _row([_number(value, decimals) for value in tensor[:most].tolist()], len(tensor))
    cells = [[_number(value, decimals) for value in row] for row in tensor[:most, :most].tolist()]
    width = max((len(cell) for row in cells for cell in row), default=0)
    rows = [_row([cell.rjust(width) for cell in row], tensor.shape[1]) for row in cells]
    if tensor.shape[0] > most:
        rows.append("…")
    return "[" + ",\n ".join(rows) + "]"


def _number(value: complex, decimals: int) -> str:
    if isinstance(value, bool | complex) or not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e6:
        return f"{value:.3e}"
    return f"{value:z.{decimals}f}"  # z: no "-0.000"


def _row(cells: list[str], length: int) -> str:
    return "[" + ", ".join([*cells, *["…"] * (length > len(cells))]) + "]"
