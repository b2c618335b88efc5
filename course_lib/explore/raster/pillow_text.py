"""Text that an explorable changes on every update, drawn by Pillow.

>>> probability = add_text(axes, 0.5, 0.9, ha="center", size=11)
>>> probability.set_text("0.70")
>>> set_texts(labels, ["cat", "water"], theme.BLUE)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.text import Text
from PIL import ImageFont

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HORIZONTAL = {"left": "l", "center": "m", "right": "r"}  # matplotlib's alignments as Pillow's anchors
VERTICAL = {"baseline": "s", "bottom": "d", "center": "m", "center_baseline": "m", "top": "a"}


class PillowText(Text):
    """One line without formulas, rotated by 0 or 90 degrees; drawn twenty times faster than `Text`."""

    def draw(self, renderer: Any) -> None:
        if not self.get_text():
            return
        pixels = round(self.get_fontsize() * renderer.dpi / 72)
        anchor = HORIZONTAL[self.get_horizontalalignment()] + VERTICAL[self.get_verticalalignment()]
        colour = to_rgba(self.get_color(), self.get_alpha())
        image, left, top = _render(self.get_text(), str(self.get_fontweight()), pixels, anchor, colour)
        x, y = self.get_transform().transform(self.get_unitless_position())
        right, up = left, -top - len(image)
        if self.get_rotation() == 90:
            image, right, up = np.ascontiguousarray(image[::-1].swapaxes(0, 1)), top, left
        if image.size:
            context = renderer.new_gc()
            renderer.draw_image(context, round(x) + right, round(y) + up, image)
            context.restore()


def add_text(
    parent: Axes | Figure,
    x: float,
    y: float,
    text: str = "",
    *,
    ha: str = "left",
    va: str = "baseline",
    colour: str | None = None,
    size: float | None = None,
    weight: str = "normal",
    coords: str = "data",
) -> PillowText:
    """Add text to a figure (x, y from 0 to 1) or to axes (data units; with `coords="axes"` from 0 to 1)."""
    from matplotlib.figure import Figure  # slow to import

    artist = PillowText(x, y, text, ha=ha, va=va, color=colour, fontsize=size, fontweight=weight, zorder=5)
    if isinstance(parent, Figure):
        artist.set_transform(parent.transFigure)
    else:
        artist.set_transform(parent.transData if coords == "data" else parent.transAxes)
    parent.add_artist(artist)
    return artist


def set_texts(artists: Sequence[Text], texts: Iterable[str], colours: Any = None, bold: Any = None) -> None:
    """Set the texts in order and clear the artists left over. `colours` is one for all, or one for each."""
    texts = list(texts)
    for i, artist in enumerate(artists):
        artist.set_text(texts[i] if i < len(texts) else "")
        artist.stale = True  # even if the text is the same: it marks what an explorable draws again
        if colours is not None and i < len(texts):
            artist.set_color(colours if isinstance(colours, str) else colours[i])
        if bold is not None and i < len(texts):
            artist.set_fontweight("bold" if bold[i] else "normal")


def _render(
    text: str, weight: str, pixels: int, anchor: str, rgba: tuple[float, ...]
) -> tuple[np.ndarray, int, int]:
    """The text as coloured pixels, lowest row first, and their offset from the anchor."""
    mask, left, top = _mask(text, weight, pixels, anchor)
    image = np.empty((*mask.shape, 4), dtype=np.uint8)
    image[..., :3] = np.multiply(rgba[:3], 255).round()
    image[..., 3] = mask * rgba[3]
    return image[::-1], left, top


@lru_cache(maxsize=1024)  # a slider shows the same few numbers again and again; a heading takes about 12 KB
def _mask(text: str, weight: str, pixels: int, anchor: str) -> tuple[np.ndarray, int, int]:
    """How much of each pixel the text covers, from 0 to 255, and the offset from the anchor."""
    mask, (left, top) = _font(weight, pixels).getmask2(text, mode="L", anchor=anchor)
    width, height = mask.size
    return np.frombuffer(bytes(mask), dtype=np.uint8).reshape(height, width), left, top


@cache
def _font(weight: str, pixels: int) -> ImageFont.FreeTypeFont:
    path = findfont(FontProperties(family="DejaVu Sans", weight=weight))
    return ImageFont.truetype(path, pixels, layout_engine=ImageFont.Layout.BASIC)
