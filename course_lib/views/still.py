"""A picture that stays as it is: from numbers to PNG bytes, with the sentence that says what is seen.

    >>> axes = theme.figure().subplots()
    >>> fit(axes, width=4.0, height=2.5)                        # inches of the axes; no label is ever cut off
    >>> Still(axes.figure, alt="Loss falls from 2.1 to 0.3.")   # as the last line of a cell
    Still('Loss falls from 2.1 to 0.3.')

Under JupyterLab's dark theme the page darkens our pictures (`theme.PAGE_STYLE`); the stored bytes are one.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

MARGIN = 0.14  # inches of paper around everything


class Still:
    """Keeps the bytes and lets the figure go, so a long notebook does not fill the memory."""

    def __init__(self, figure: Figure, alt: str):
        self.alt, self.png = alt, png(figure)
        self.width, self.height = shown_size(figure)

    def __repr__(self) -> str:
        return f"Still({self.alt!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return bundle(self.png, alt=self.alt, width=self.width, height=self.height)


def png(figure: Figure) -> bytes:
    """The figure as PNG: no pyplot, no date, no version mark, so the same figure gives the same bytes."""
    figure.canvas.draw()
    return encoded(np.asarray(figure.canvas.buffer_rgba()))


def encoded(pixels: np.ndarray) -> bytes:
    """Pixels as PNG; level 6, for 9 takes four times as long for 2% less."""
    stream = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def bundle(image: bytes, *, alt: str, width: int, height: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data and metadata a notebook stores for a picture; sizes in CSS pixels.

    JupyterLab turns `needs_background` into a class, by which the page's style finds our pictures.
    """
    data = {"image/png": base64.b64encode(image).decode("ascii"), "text/plain": alt}
    sizes = {"width": width, "height": height, "alt": alt}
    return data, {"image/png": sizes, "needs_background": "light"}


def shown_size(figure: Figure) -> tuple[int, int]:
    """Width and height in CSS pixels: half of what is drawn, so it is crisp on a dense screen."""
    width, height = figure.canvas.get_width_height()
    return round(width / 2), round(height / 2)


def fit(axes: Axes, *, width: float, height: float) -> None:
    """Give the axes this size and the figure the smallest size that holds axes, labels and title."""
    figure = axes.figure
    figure.set_layout_engine("none")
    figure.set_size_inches(width, height)
    axes.set_position((0, 0, 1, 1))
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    left, right, bottom, top = (edge / figure.dpi for edge in (box.x0, box.x1, box.y0, box.y1))
    whole = whole_width, whole_height = right - left + 2 * MARGIN, top - bottom + 2 * MARGIN
    figure.set_size_inches(whole)
    x, y = (MARGIN - left) / whole_width, (MARGIN - bottom) / whole_height
    axes.set_position((x, y, width / whole_width, height / whole_height))


def as_numbers(values: Any, *, ndim: int, what: str) -> np.ndarray:
    """A copy as floats, from lists, NumPy or torch; or an error that says which shape was wanted."""
    if hasattr(values, "detach"):  # a tensor that wants a gradient does not turn into an array by itself
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
