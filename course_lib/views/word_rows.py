"""Sentences as rows of words, each word on the colour of its weight.

>>> word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Where “it” looks")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import FancyBboxPatch

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.arrays import as_numbers
from course_lib.views.fit import fit
from course_lib.views.ink import ink_on
from course_lib.views.still import Still

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
    if not len(weights) == len(words) == len(marked):
        raise ValueError(
            f"Each sentence needs its weights, its words and its marked word; "
            f"{len(weights)}, {len(words)} and {len(marked)} came."
        )
    axes = theme.figure().subplots()
    told, widest = [], 0.0
    for row, (shares, sentence, looker) in enumerate(zip(weights, words, marked, strict=True)):
        shares = as_numbers(shares, ndim=1, what=f"The weights of sentence {row + 1}")
        if len(shares) != len(sentence):
            raise ValueError(
                f"Sentence {row + 1} has {len(sentence)} words and {len(shares)} weights; make them equal."
            )
        x = 0.0
        for word, share in zip(sentence, shares, strict=True):
            width = 0.105 * len(word) + 0.18
            _word(axes, x, row, width, word, float(share), framed=word == looker)
            x += width + GAP
        widest = max(widest, x - GAP)
        told.append(
            ", ".join(f"{word} {fixed(share, 2)}" for word, share in zip(sentence, shares, strict=True))
        )
    axes.set_xlim(-0.05, widest + 0.05)
    axes.set_ylim(len(words) - 0.35, -0.6)
    axes.set_axis_off()
    axes.set_title(title)
    fit(axes, width=widest + 0.1, height=0.85 * len(words))
    return Still(axes.figure, alt=alt or f"{title or 'Weights of words'}. {'; '.join(told)}.")


def _word(axes, x: float, row: int, width: float, word: str, share: float, *, framed: bool) -> None:
    colour = theme.WEIGHTS(share)
    box = FancyBboxPatch(
        (x, row - 0.24),
        width,
        0.42,
        boxstyle="round,pad=0,rounding_size=0.07",
        facecolor=colour,
        edgecolor=theme.ORANGE if framed else theme.HAIRLINE,
        linewidth=2.2 if framed else 0.9,
    )
    axes.add_patch(box)
    middle = x + width / 2
    axes.text(middle, row - 0.03, word, ha="center", va="center", color=ink_on(colour))
    axes.text(middle, row + 0.32, fixed(share, 2), ha="center", va="center", fontsize=8, color=theme.SOFT_INK)
