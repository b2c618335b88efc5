"""Words in rows, lines between them, and translations with their wrong words marked.

>>> places = spread(["the", "cat", "drank"], 0, 300)
>>> row = word_row(["the", "cat", "drank"], places, 20)
>>> links([[0.9, 0.1, 0.0]], [150], places, (100, 30))       # thickness is weight
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from course_lib.views.svg import belongs, bend, group, line, tag, width_of, word

SEEN = 0.02  # attention weights below it have no line
GAP = 8  # pixels between two words, at least
BLANK = "\u00a0" * 4  # underlined, where words are missing


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
                alone = f"{names[0]}-{i}-{j}"
                own = belongs(f"{names[0]}-{i}", f"{names[1]}-{j}", alone, tip=read, lights=alone)
                ends = (x, heights[0]), (key, heights[1])
                drawn = {"stroke_linecap": "butt", "class_": "link", "data_key": alone} | own
                out += bend(*ends, stroke, max(0.6, thickest * float(weight)), opacity=opacity, **drawn)
    return out


def matches(output: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
    """The positions of the words that two sentences share, in order: their longest common subsequence.

    >>> matches("le chat mange la pomme".split(), "le chat voit la pomme rouge".split())
    [(0, 0), (1, 1), (3, 3), (4, 4)]
    """
    rest = [[0] * (len(reference) + 1) for _ in range(len(output) + 1)]  # how many are shared from here on
    for i in reversed(range(len(output))):
        for j in reversed(range(len(reference))):
            same = output[i] == reference[j]
            rest[i][j] = rest[i + 1][j + 1] + 1 if same else max(rest[i + 1][j], rest[i][j + 1])
    shared, i, j = [], 0, 0
    while i < len(output) and j < len(reference):
        if output[i] == reference[j]:
            shared.append((i, j))
            i, j = i + 1, j + 1
        elif rest[i + 1][j] >= rest[i][j + 1]:
            i += 1
        else:
            j += 1
    return shared


def mistakes(output: Sequence[str], reference: Sequence[str]) -> tuple[list[int], dict[int, int]]:
    """The positions of a translation's wrong words; and before which of them how many words are missing.

    The translation is aligned with its reference. A wrong word stands for one that the reference has there.

    >>> mistakes("le chat mange la pomme".split(), "le chat voit la pomme rouge".split())
    ([2], {5: 1})
    """
    wrong, missing = [], {}
    edges = [(-1, -1), *matches(output, reference), (len(output), len(reference))]
    for (i, j), (next_i, next_j) in pairwise(edges):
        wrong += range(i + 1, next_i)
        if next_j - j > next_i - i:
            missing[next_i] = (next_j - j) - (next_i - i)
    return wrong, missing


def verdict(wrong: Sequence[int], missing: Mapping[int, int]) -> str:
    """The number of mistakes in words.

    >>> verdict([2], {5: 1}), verdict([], {})
    ('1 wrong, 1 missing', 'all right')
    """
    counts = {"wrong": len(wrong), "missing": sum(missing.values())}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "all right"


def with_blanks(
    words: Sequence[str], wrong: Sequence[int], missing: Collection[int]
) -> list[tuple[str, bool]]:
    """The words and a blank where some are missing, each with whether it is a mistake."""
    parts = [(text, i in wrong) for i, text in enumerate(words)]
    for i in sorted(missing, reverse=True):
        parts.insert(i, (BLANK, True))
    return parts


def text_rows(
    x: float,
    y: float,
    words: Sequence[str],
    width: float,
    size: float = 14,
    *,
    wrong: Sequence[int] = (),
    missing: Collection[int] = (),
    bold: bool = False,
) -> tuple[str, int]:
    """Running text in as many rows as it needs, and their number; `mistakes` are marked, gaps left blank."""
    parts = with_blanks(words, wrong, missing)
    rows: list[list[str]] = [[]]
    room = width
    wide = size * (1.15 if bold else 1)
    for text, lit in parts:
        if width_of(text, wide) > room and rows[-1]:
            rows.append([])
            room = width
        room -= width_of(f"{text} ", wide)
        marked = {"fill": "var(--accent)", "text_decoration": "underline"}
        rows[-1].append(tag("tspan", escape(text), **marked) if lit else escape(text))
    at = {"x": x, "font_size": size, "fill": "var(--ink)", "font_weight": "600" if bold else None}
    drawn = [tag("text", " ".join(row), y=y + (size + 5) * i, **at) for i, row in enumerate(rows) if row]
    return "".join(drawn), len(rows)


def same_length(some: Sequence, others: Sequence, name: str, other_name: str) -> None:
    if len(some) != len(others):
        raise ValueError(f"{len(others)} {name} expected, one for each of the {other_name}; got {len(some)}.")
