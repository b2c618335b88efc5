"""What a figure is drawn from: numbers in an array, whatever they came in.

>>> as_numbers([[1, 2], [3, 4]], ndim=2, what="the matrix").shape
(2, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np


def as_numbers(values: Any, *, ndim: int, what: str) -> np.ndarray:
    """A copy as floats, from lists, NumPy or torch; or an error that says which shape was wanted."""
    if hasattr(
        values, "detach"
    ):  # a torch tensor that wants a gradient does not turn into an array by itself
        values = values.detach().cpu().double().numpy()
    array = np.array(values, dtype=float)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(
            f"{what} must have {ndim} {'axis' if ndim == 1 else 'axes'} and at least one number; "
            f"its shape is {array.shape}. Pick one with an index, such as weights[0]."
        )
    return array


def as_labels(labels: Any, *, count: int, what: str) -> list[str]:
    """The labels as text, as many as there are things to label."""
    texts = [str(label) for label in labels]
    if len(texts) != count:
        raise ValueError(f"{what}: {count} needed, {len(texts)} given ({', '.join(texts[:6])}).")
    return texts
