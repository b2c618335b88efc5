"""A picture that stays as it is: PNG bytes with the sentence that says what is seen.

>>> Still(drawn, alt="Loss falls from 2.1 to 0.3.")     # as the last line of a cell
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.views import encode


def png(figure: Figure) -> bytes:
    """The figure as PNG: no pyplot, no date, no version mark, so the same figure gives the same bytes."""
    figure.canvas.draw()
    return encode.small(np.asarray(figure.canvas.buffer_rgba()))


def bundle(image: bytes, *, alt: str, width: int, height: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data and metadata a notebook stores for a picture; sizes in CSS pixels."""
    data = {"image/png": base64.b64encode(image).decode("ascii"), "text/plain": alt}
    return data, {"image/png": {"width": width, "height": height, "alt": alt}}


def shown_size(figure: Figure) -> tuple[int, int]:
    """Width and height in CSS pixels: half of what is drawn, so it is crisp on a dense screen."""
    width, height = figure.canvas.get_width_height()
    return round(width / 2), round(height / 2)


class Still:
    """Keeps the bytes and lets the figure go, so a long notebook does not fill the memory."""

    def __init__(self, figure: Figure, alt: str, width: int | None = None):
        self.alt = alt
        self.png = png(figure)
        drawn_width, drawn_height = shown_size(figure)
        self.width = width or drawn_width
        self.height = round(drawn_height * self.width / drawn_width)

    def __repr__(self) -> str:
        return f"Still({self.alt!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return bundle(self.png, alt=self.alt, width=self.width, height=self.height)
