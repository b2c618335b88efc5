"""A figure as PNG bytes with alt text, and what the functions of this package share.

>>> axes = theme.figure().subplots()
>>> fit(axes, width=4.0, height=2.5)                              # of the axes, in inches
>>> StaticImage(axes.figure, alt="Loss falls from 2.1 to 0.3.")   # as the last line of a cell
StaticImage('Loss falls from 2.1 to 0.3.')
"""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.14  # inches of paper around everything
N_COLOURS = 128  # of a WebP; with fewer, thin lines change their colour


class StaticImage:
    """Holds the bytes and not the figure, so that a long notebook doesn't fill the memory.

    `drawn` says that the canvas already holds the picture. Width and height are in CSS pixels: half of those
    drawn, so that the image is sharp on a high-resolution screen.
    """

    def __init__(self, figure: Figure, alt: str, *, drawn: bool = False):
        if not drawn:
            figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())
        self.alt, self.png = alt, encode_png(pixels)
        self.height, self.width = (round(size / 2) for size in pixels.shape[:2])

    def __repr__(self) -> str:
        return f"StaticImage({self.alt!r})"

    def img(self) -> str:
        """A small copy as an HTML element."""
        webp = encode_webp(np.asarray(Image.open(io.BytesIO(self.png))))
        address = f"data:image/webp;base64,{base64.b64encode(webp).decode('ascii')}"
        size = f'width="{self.width}" height="{self.height}"'
        return f'<img class="course-raster course-still" alt="{escape(self.alt)}" {size} src="{address}">'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data = {"image/png": base64.b64encode(self.png).decode("ascii"), "text/plain": self.alt}
        about = {"width": self.width, "height": self.height, "alt": self.alt}
        # JupyterLab turns `needs_background` into a CSS class, by which `theme.PAGE_STYLE` finds our images.
        return data, {"image/png": about, "needs_background": "light"}


def encode_png(pixels: np.ndarray) -> bytes:
    """PNG bytes without date or version, so that equal pixels give equal bytes.

    Level 6, because level 9 takes four times as long for 2% less.
    """
    stream = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def encode_webp(pixels: np.ndarray) -> bytes:
    """WebP bytes with fewer colours: about a quarter of the PNG's size, and as sharp."""
    stream, image = io.BytesIO(), Image.fromarray(pixels).convert("RGB")
    few = image.quantize(N_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.convert("RGB").save(stream, "WEBP", lossless=True)
    return stream.getvalue()


def fit(axes: Axes, *, width: float, height: float) -> None:
    """Give the axes this size, and the figure the smallest size that holds axes, labels and title."""
    figure = axes.figure
    figure.set_layout_engine("none")
    figure.set_size_inches(width, height)
    axes.set_position((0, 0, 1, 1))
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    left, right, bottom, top = (edge / figure.dpi for edge in (box.x0, box.x1, box.y0, box.y1))
    full_width, full_height = right - left + 2 * MARGIN, top - bottom + 2 * MARGIN
    figure.set_size_inches(full_width, full_height)
    x, y = (MARGIN - left) / full_width, (MARGIN - bottom) / full_height
    axes.set_position((x, y, width / full_width, height / full_height))


def to_array(values: Any, *, ndim: int, name: str) -> np.ndarray:
    """A copy as floats, from lists, NumPy or torch."""
    if hasattr(values, "detach"):  # NumPy can't convert a tensor that requires a gradient
        values = values.detach().cpu().double().numpy()
    array = np.array(values, dtype=float)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(
            f"{name} must have {ndim} {'axis' if ndim == 1 else 'axes'} and at least one number; "
            f"its shape is {array.shape}. Pick one with an index, such as weights[0]."
        )
    return array


def to_labels(labels: Any, *, count: int, name: str) -> list[str]:
    texts = [str(label) for label in labels]
    if len(texts) != count:
        raise ValueError(f"{name}: {count} needed, {len(texts)} given ({', '.join(texts[:6])}).")
    return texts
