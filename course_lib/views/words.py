"""Words in rows, lines between them, and translations with their wrong words marked.

>>> places = spread(["the", "cat", "drank"], 0, 300)
>>> row = word_row(["the", "cat", "drank"], places, 20)
>>> links([[0.9, 0.1, 0.0]], [150], places, (100, 30))       # thickness is weight
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from course_lib.views.svg import belongs, bend, group, line, width_of, word

SEEN = 0.02  # attention weights below it have no line
GAP = 8  # pixels between two words, at least


def spread(
    words: Sequence[str], left: float, right: float, size: float = 14, most: float = 26
) -> list[float]:
    """The middles of words in a row, with the same gap between all of them, at most `most` pixels."""
    widths = [width_of(word, size) for word in words]
    gap = min(most, (right - left - sum(widths)) / max(1, len(words) - 1))
    places, at = [], left
    for width in widths:
        places.append(at + width / 2)
        at += width + gap
    return places


def fits(words: Sequence[str], width: float, size: float = 14) -> bool:
    """Whether they stand side by side in this width."""
    return sum(width_of(word, size) + GAP for word in words) - GAP <= width


def word_row(
    words: Sequence[str],
    places: Sequence[float],
    y: float,
    size: float = 14,
    fill: str = "ink",
    *,
    name: str = "",
    marked: Sequence[int] = (),
    bold: Sequence[int] = (),
    **more: Any,
) -> str:
    """Words at their places. Marked ones are in the accent colour and underlined, so not by colour alone."""
    same_length(words, places, "words", "places")
    out = ""
    for i, (text, x) in enumerate(zip(words, places, strict=True)):
        lit, half = i in marked, width_of(text, size) / 2
        row = belongs(f"{name}-{i}") if name else {}
        drawn = word(x, y, text, size, "accent" if lit else fill, bold=i in bold, **more)
        if lit:
            drawn += line([(x - half + 1, y + 4), (x + half - 1, y + 4)], "accent", 1.5)
        out += group(drawn, class_="word", **row) if name else drawn
    return out


def links(
    weights: Any,
    queries: Sequence[float],
    keys: Sequence[float],
    heights: tuple[float, float],
    *,
    colours: Sequence[str] | str = "query",
    thickest: float = 9,
    opacity: float = 0.8,
    names: tuple[str, str] = ("query", "key"),
    words: tuple[Sequence[str], Sequence[str]] | None = None,
) -> str:
    """A line from each query, at the first height, to each key at the second: as thick as its weight.

    Pointing at a word of `word_row(..., name=names[0])` leaves that word's lines.
    """
    same_length(weights, queries, "rows of weights", "queries")
    out = ""
    for i, (row, x) in enumerate(zip(weights, queries, strict=True)):
        same_length(row, keys, f"weights of query {i}", "keys")
        stroke = colours if isinstance(colours, str) else colours[i]
        for j, (weight, key) in enumerate(zip(row, keys, strict=True)):
            if weight >= SEEN:
                read = f"{words[0][i]} → {words[1][j]} {weight:.2f}" if words else f"{weight:.2f}"
                own = belongs(f"{names[0]}-{i}", f"{names[1]}-{j}", f"{names[0]}-{i}-{j}", tip=read)
                own["data_lights"] = f"{names[0]}-{i}-{j}"
                ends = (x, heights[0]), (key, heights[1])
                drawn = {"stroke_linecap": "butt", "class_": "link"} | own
                out += bend(*ends, stroke, max(0.6, thickest * float(weight)), opacity=opacity, **drawn)
    return out


def wrong_words(output: Sequence[str], reference: Sequence[str]) -> list[int]:
    """The positions of the words of a translation that its reference, aligned with it, doesn't have there.

    >>> wrong_words("le chat mange la pomme".split(), "le chat voit la pomme".split())
    [2]
    """
    blocks = SequenceMatcher(None, list(reference), list(output), autojunk=False).get_matching_blocks()
    right = {block.b + i for block in blocks for i in range(block.size)}
    return [i for i in range(len(output)) if i not in right]


def same_length(some: Sequence, others: Sequence, name: str, other_name: str) -> None:
    if len(some) != len(others):
        raise ValueError(f"{len(others)} {name} expected, one for each of the {other_name}; got {len(some)}.")
