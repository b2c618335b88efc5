"""Sentences with each word on the colour of its attention weight.

>>> word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Attention of “it”")
StaticImage('Attention of “it”. cat 0.90, it 0.10.')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patches import FancyBboxPatch

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.static_image import StaticImage, fit, to_array, to_labels

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

GAP = 0.12  # inches between two words


def word_rows(
    weights: Sequence[Any], *, words: Sequence[Sequence[str]], marked: Sequence[str], title: str = ""
) -> StaticImage:
    """One row per sentence; the marked word of each, whose attention weights these are, has a frame."""
    axes = theme.figure().subplots()
    sentences, widest = [], 0.0
    for row, (row_weights, sentence, query) in enumerate(zip(weights, words, marked, strict=True)):
        row_weights = to_array(row_weights, ndim=1, name=f"The attention weights of sentence {row + 1}")
        to_labels(sentence, count=len(row_weights), name=f"Words of sentence {row + 1}")
        x, readings = 0.0, []
        for word, weight in zip(sentence, row_weights.tolist(), strict=True):
            x += _draw_word(axes, x, row, word, weight, framed=word == query) + GAP
            readings.append(f"{word} {fixed(weight, 2)}")
        widest = max(widest, x - GAP)
        sentences.append(", ".join(readings))
    axes.set(xlim=(-0.05, widest + 0.05), ylim=(len(words) - 0.35, -0.6), title=title)
    axes.set_axis_off()
    fit(axes, width=widest + 0.1, height=0.85 * len(words))
    return StaticImage(axes.figure, alt=f"{title or 'Attention weights'}. {'; '.join(sentences)}.")


def _draw_word(axes: Axes, x: float, row: int, word: str, weight: float, *, framed: bool) -> float:
    """Draw a word in its box and its attention weight below; return the box's width in inches."""
    width, colour = 0.105 * len(word) + 0.18, theme.WEIGHTS(weight)
    frame = {"edgecolor": theme.ORANGE, "linewidth": 2.2} if framed else {"edgecolor": theme.HAIRLINE}
    shape = {"boxstyle": "round,pad=0,rounding_size=0.07", "facecolor": colour, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch((x, row - 0.24), width, 0.42, **shape | frame))
    centred = {"ha": "center", "va": "center"}
    axes.text(x + width / 2, row - 0.03, word, color=theme.ink_on(colour), **centred)
    axes.text(x + width / 2, row + 0.32, fixed(weight, 2), fontsize=8, color=theme.SOFT_INK, **centred)
    return width
