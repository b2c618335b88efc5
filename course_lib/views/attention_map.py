"""A picture of who looked where: translated words down the side, source words along the top.

    >>> figure = attention_map([[0.9, 0.1], [0.2, 0.8]], source=["the", "cat"], target=["le", "chat"])
    >>> picture_bytes(figure, ".png")[:4]
    b'\\x89PNG'

Words may come from anywhere, so they are shown as they are: `$x$` is three signs here and no formula.
Cells grow smaller with the sentence, but never so small that two words would touch. Beneath stand a key to
the colours and the notes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.parts import Heatmap
from course_lib.views.still import as_labels, as_numbers, fit, png

LARGEST, SMALLEST, WHOLE = 0.5, 0.2, 8.0  # inches: a cell's side at most and at least, the map if it can be
NUMBERS_FROM, NUMBERS_ABOVE = 0.4, 0.05  # cells of this size have room for numbers; smaller weights need none
KEY_WIDTH, KEY_HEIGHT, LINE, ABOVE = 1.2, 0.12, 0.2, 0.18  # inches: the key, a line of text, the gap above
SHORTEST_LINE, SIGNS_PER_INCH = 44, 14
FORMATS = (".png", ".svg")


def attention_map(
    weights: Any, *, source: Any, target: Any, title: str = "", notes: Sequence[str] = ()
) -> Figure:
    """A figure of one matrix of weights, a row for each target word; the notes stand below, a line each."""
    cells = as_numbers(weights, ndim=2, what="The weights of an attention map")
    rows = as_labels(target, count=cells.shape[0], what="Target words")
    columns = as_labels(source, count=cells.shape[1], what="Source words")
    axes = theme.figure().subplots()
    panel = Heatmap(axes, rows, columns)
    panel.show(cells)
    side = min(LARGEST, max(SMALLEST, WHOLE / max(cells.shape)))
    width, height = side * cells.shape[1], side * cells.shape[0]
    _words_on_top(axes, slant=max(map(len, columns)) * 0.09 > side)
    axes.set_xlabel("source", labelpad=7)
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("translation", labelpad=7)
    if title:
        axes.set_title(title, parse_math=False, pad=10)
    if side >= NUMBERS_FROM:
        _write_numbers(axes, cells, panel)
    _write_below(axes, notes, width=width, height=height)
    with _any_script():
        fit(axes, width=width, height=height)
    return axes.figure


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """The figure as a file of this kind, .png or .svg; the same figure gives the same bytes."""
    if suffix not in FORMATS:
        raise ValueError(f"Expected a picture file that ends in {' or '.join(FORMATS)}, but got {suffix!r}.")
    with _any_script():
        if suffix == ".png":
            return png(figure)
        stream = io.BytesIO()
        with rc_context({"svg.hashsalt": "attention"}):
            figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
        return stream.getvalue()


@contextmanager
def _any_script() -> Iterator[None]:
    """A sign that the font lacks is drawn as a box, and nobody need be warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _words_on_top(axes: Axes, *, slant: bool) -> None:
    axes.xaxis.tick_top()
    for tick in axes.xaxis.get_major_ticks():
        tick.label2.set(parse_math=False, color=theme.INK, rotation=0, ha="center")
        if slant:
            tick.label2.set(rotation=55, ha="left", va="baseline", rotation_mode="anchor")
    for tick in axes.yaxis.get_major_ticks():
        tick.label1.set(parse_math=False, color=theme.INK, ha="right")


def _write_numbers(axes: Axes, cells: np.ndarray, panel: Heatmap) -> None:
    for (row, column), value in np.ndenumerate(cells):
        if value >= NUMBERS_ABOVE:
            look = {"ha": "center", "va": "center", "color": panel.ink_on(value), "size": 8.5}
            axes.text(column + 0.5, row + 0.5, fixed(value, 2).removeprefix("0"), **look)


def _write_below(axes: Axes, notes: Sequence[str], *, width: float, height: float) -> None:
    """The key and the notes, under axes of this size in inches: the smallest map has room for them there."""
    middle = -(ABOVE + KEY_HEIGHT / 2)
    low = middle - KEY_HEIGHT / 2
    key = axes.inset_axes((0.2 / width, low / height, KEY_WIDTH / width, KEY_HEIGHT / height))
    key.imshow(np.linspace(0, 1, 256)[None], aspect="auto", cmap=theme.WEIGHTS)
    key.set(xticks=[], yticks=[])
    key.spines[:].set_visible(True)

    def write(x: float, y: float, text: str) -> None:
        look = {"va": "center", "size": 9, "color": theme.SOFT_INK, "parse_math": False}
        axes.text(x / width, y / height, text, transform=axes.transAxes, **look)

    write(0, middle, "0")
    write(0.2 + KEY_WIDTH + 0.08, middle, "1   weight of a source word")
    room = max(SHORTEST_LINE, int(width * SIGNS_PER_INCH))
    lines = [line for note in notes for line in wrap(note, room)]
    for number, line in enumerate(lines, start=1):
        write(0, middle - number * LINE, line)
