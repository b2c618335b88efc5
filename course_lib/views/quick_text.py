"""Text for a picture that moves: it may change on every move, and is painted many times faster.

>>> share = quick_text(axes, 0.5, 0.9, ha="center", size=11)
>>> share.set_text("0.70")                          # and again, at every move
>>> write(labels, ["cat", "water"], theme.BLUE)     # several at once
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """Text that may change on every move, drawn by Pillow twenty times faster than by matplotlib.

    Same font, same place, same colour; one line, no formulas. A rotation of 90 degrees stands it upright, to
    be read from below; no other is known.
    """

    def draw(self, renderer: Any) -> None:
        if not self.get_text():
            return
        pixels = round(self.get_fontsize() * renderer.dpi / 72)
        anchor = SIDES[self.get_horizontalalignment()] + LEVELS[self.get_verticalalignment()]
        colour = to_rgba(self.get_color(), self.get_alpha())
        ink, left, top = _ink(self.get_text(), str(self.get_fontweight()), pixels, anchor, colour)
        x, y = self.get_transform().transform(self.get_unitless_position())
        right, up = left, -top - len(ink)
        if self.get_rotation() == 90:
            ink, right, up = np.ascontiguousarray(ink[::-1].swapaxes(0, 1)), top, left
        if ink.size:
            brush = renderer.new_gc()
            renderer.draw_image(brush, round(x) + right, round(y) + up, ink)
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


def write(texts: Sequence[Text], words: Iterable[str], colours: Any = None, bold: Any = None) -> None:
    """Put words into texts, in order; the texts left over are blank. Colours: one for all, or for each."""
    words = list(words)
    for i, text in enumerate(texts):
        text.set_text(words[i] if i < len(words) else "")
        text.stale = True  # also where it was blank before: it may move later
        if colours is not None and i < len(words):
            text.set_color(colours if isinstance(colours, str) else colours[i])
        if bold is not None and i < len(words):
            text.set_fontweight("bold" if bold[i] else "normal")


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
