"""Text that may change on every move: drawn by Pillow, twenty times faster than by matplotlib.

    >>> reading = quick_text(axes, 0.5, 1.0, "0.25", ha="center")
    >>> reading.set_text("0.31")

Same font, same place, same colour; one line, no formulas, no rotation. Text that never changes is better
left to matplotlib.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.text import Text
from PIL import ImageFont

SIDES = {"left": "l", "center": "m", "right": "r"}
LEVELS = {"baseline": "s", "bottom": "d", "center": "m", "center_baseline": "m", "top": "a"}


class QuickText(Text):
    def draw(self, renderer: Any) -> None:
        text = self.get_text()
        if not text or not self.get_visible():
            return
        pixels = round(self.get_fontsize() * renderer.dpi / 72)
        anchor = SIDES[self.get_horizontalalignment()] + LEVELS[self.get_verticalalignment()]
        ink, left, top = _ink(
            text, str(self.get_fontweight()), pixels, anchor, to_rgba(self.get_color(), self.get_alpha())
        )
        x, y = self.get_transform().transform(self.get_unitless_position())
        if ink.size:
            brush = renderer.new_gc()
            renderer.draw_image(brush, round(x) + left, round(y) - top - len(ink), ink)
            brush.restore()


def quick_text(
    where: Axes | Figure,
    x: float,
    y: float,
    text: str = "",
    *,
    ha: str = "left",
    va: str = "baseline",
    colour: str | None = None,
    size: float | None = None,
    weight: str = "normal",
    of: str = "data",
) -> QuickText:
    """A quick text in a figure (x and y from 0 to 1) or in axes, in data units or `of="axes"` (0 to 1)."""
    words = QuickText(x, y, text, ha=ha, va=va, color=colour, fontsize=size, fontweight=weight, zorder=5)
    if isinstance(where, Figure):
        words.set_transform(where.transFigure)
    else:
        words.set_transform(where.transData if of == "data" else where.transAxes)
    where.add_artist(words)
    return words


@lru_cache(maxsize=4096)  # a slider that goes back and forth shows the same few numbers again
def _ink(
    text: str, weight: str, pixels: int, anchor: str, rgba: tuple[float, ...]
) -> tuple[np.ndarray, int, int]:
    """The text as coloured pixels, lowest row first, and where they lie from the anchor."""
    mask, (left, top) = _font(weight, pixels).getmask2(text, mode="L", anchor=anchor)
    width, height = mask.size
    ink = np.empty((height, width, 4), dtype=np.uint8)
    ink[..., :3] = np.multiply(rgba[:3], 255).round()
    ink[..., 3] = np.frombuffer(bytes(mask), dtype=np.uint8).reshape(height, width) * rgba[3]
    return ink[::-1], left, top


@cache
def _font(weight: str, pixels: int) -> ImageFont.FreeTypeFont:
    path = findfont(FontProperties(family="DejaVu Sans", weight=weight))
    return ImageFont.truetype(path, pixels, layout_engine=ImageFont.Layout.BASIC)
