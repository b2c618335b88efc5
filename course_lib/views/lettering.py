"""Words in pictures: sentences on the colour of their weights, and what happened in which year.

>>> word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Where “it” looks")
>>> timeline({2014: ["sequence to sequence"], 2015: ["Bahdanau", "Luong"]}, title="Two years")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.still import Still, as_labels, as_numbers, fit, ink_on

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
    axes.text(x + width / 2, row - 0.03, word, color=ink_on(colour), **middle)
    axes.text(x + width / 2, row + 0.32, fixed(share, 2), fontsize=8, color=theme.SOFT_INK, **middle)
    return width


def timeline(events: Mapping[int, Sequence[str]], *, title: str = "", alt: str | None = None) -> Still:
    """A still picture with one column a year, its events above it; the last is where the road leads."""
    if not events or not all(events.values()):
        raise ValueError(f"A timeline needs years, each with at least one event; this came: {dict(events)}.")
    years = sorted(events)
    axes = theme.figure().subplots()
    for x, (year, following) in enumerate(pairwise(years)):
        style = ":" if following - year > 1 else "-"  # dots say that years are left out
        axes.plot([x, x + 1], [0, 0], color=theme.HAIRLINE, linewidth=3, linestyle=style, zorder=1)
    for x, year in enumerate(years):
        last = year == years[-1]
        axes.plot(x, 0, "o", markersize=11, color=theme.ORANGE if last else theme.BLUE, zorder=2)
        axes.text(x, -0.55, str(year), ha="center", va="top", fontweight="bold", color=theme.SOFT_INK)
        for level, event in enumerate(events[year]):
            final = last and level == len(events[year]) - 1
            look = {"fontweight": "bold", "color": theme.ORANGE} if final else {}
            text = event.replace(" ", "\n", 1) if len(event) > 14 else event
            place = {"ha": "center", "va": "center", "fontsize": 8.5, "linespacing": 1.05}
            axes.text(x, 0.7 + 0.72 * level, text, **place | look)
    tallest = max(len(names) for names in events.values())
    axes.set(xlim=(-0.6, len(years) - 0.4), ylim=(-1.2, 0.5 + 0.75 * tallest), title=title)
    axes.set_axis_off()
    fit(axes, width=1.3 * len(years), height=2.7)
    told = "; ".join(f"{year}: {', '.join(events[year])}" for year in years)
    return Still(axes.figure, alt=alt or f"{title or 'Timeline'}. {told}.")
