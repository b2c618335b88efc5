"""Sentences, each word on the colour of its weight.

>>> word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Where “it” looks")
Still('Where “it” looks. cat 0.90, it 0.10.')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.still import Still, as_labels, as_numbers, fit

GAP = 0.12  # inches between two words


def word_rows(
    weights: Sequence[Any],
    *,
    words: Sequence[Sequence[str]],
    marked: Sequence[str],
    title: str = "",
    alt: str | None = None,
) -> Still:
    """A still picture: one row a sentence, the marked word of each framed (it is the one that looks)."""
    axes = theme.figure().subplots()
    told, widest = [], 0.0
    for row, (shares, sentence, looker) in enumerate(zip(weights, words, marked, strict=True)):
        shares = as_numbers(shares, ndim=1, what=f"The weights of sentence {row + 1}")
        as_labels(sentence, count=len(shares), what=f"Words of sentence {row + 1}")
        x = 0.0
        for word, share in zip(sentence, shares, strict=True):
            x += _word(axes, x, row, word, float(share), framed=word == looker) + GAP
        widest = max(widest, x - GAP)
        told.append(", ".join(f"{word} {fixed(w, 2)}" for word, w in zip(sentence, shares, strict=True)))
    axes.set(xlim=(-0.05, widest + 0.05), ylim=(len(words) - 0.35, -0.6), title=title)
    axes.set_axis_off()
    fit(axes, width=widest + 0.1, height=0.85 * len(words))
    return Still(axes.figure, alt=alt or f"{title or 'Weights of words'}. {'; '.join(told)}.")


def _word(axes: Axes, x: float, row: int, word: str, share: float, *, framed: bool) -> float:
    """One word in its box, its weight below; returns the box's width in inches."""
    width, colour = 0.105 * len(word) + 0.18, theme.WEIGHTS(share)
    frame = {"edgecolor": theme.ORANGE, "linewidth": 2.2} if framed else {"edgecolor": theme.HAIRLINE}
    shape = {"boxstyle": "round,pad=0,rounding_size=0.07", "facecolor": colour, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch((x, row - 0.24), width, 0.42, **shape | frame))
    middle = {"ha": "center", "va": "center"}
    axes.text(x + width / 2, row - 0.03, word, color=theme.ink_on(colour), **middle)
    axes.text(x + width / 2, row + 0.32, fixed(share, 2), fontsize=8, color=theme.SOFT_INK, **middle)
    return width
