"""Numbers as cells: a row, a column, many of them, a map with words.

    >>> cells(10, 10, [0.9, -0.3, 0.0])                          # blue is positive, orange negative
    >>> word_map(80, 20, weights, rows=["il", "a"], columns=["cat", "it"])

A weight is blue, the darker the larger; a number of either sign is blue or orange. What a mask hides is grey.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from course_lib.formatting import minus
from course_lib.views.svg import belongs, box, colour, dot, group, line, number, opacity_of, tag, word
from course_lib.views.words import same_length


def shade(value: float, largest: float) -> tuple[str, float]:
    """The colour of a number, and how strong it is."""
    if not math.isfinite(value):
        return "hair", 1.0
    strength = min(1.0, abs(value) / largest) if largest else 0.0
    return "key" if value < 0 else "query", strength


def cells(
    x: float, y: float, values: Any, size: float = 9, *, columns: int | None = None, largest: float = 1.0
) -> str:
    """Squares for numbers, in rows of `columns`, or in one."""
    numbers = np.ravel(values)
    columns = columns or len(numbers)
    out = ""
    for i, value in enumerate(numbers):
        fill, strength = shade(float(value), largest)
        at = x + size * (i % columns), y + size * (i // columns)
        out += box(*at, size - 1, size - 1, fill, radius=1.5, opacity=strength)
    return out


def heat(
    x: float,
    y: float,
    matrix: Any,
    cell: tuple[float, float],
    *,
    largest: float = 1.0,
    fill: str = "query",
    shades: int = 6,
) -> str:
    """Many numbers as small cells: one path for each shade, whose strokes are runs of equal cells.

    A number is in `fill`, below 0 in orange; what isn't finite is grey.
    """
    numbers = np.asarray(matrix, dtype=float)
    hidden = ~np.isfinite(numbers)
    levels = np.round(shades * np.clip(np.where(hidden, 0, numbers) / largest, -1, 1)).astype(int)
    levels[hidden] = shades + 1
    paths: dict[int, str] = {}
    for i, row in enumerate(levels.tolist()):
        at = 0
        for level, run in groupby(row):
            length = len(list(run))
            paths[level] = paths.get(level, "") + f"M{at} {i}h{length}"
            at += length
    drawn = ""
    for level in sorted(paths.keys() - {0}):
        if level > shades:
            shade = {"stroke": "var(--hair)"}
        else:
            shade = {"opacity": opacity_of(abs(level) / shades)}
            shade |= {"stroke": "var(--key)"} if level < 0 else {}
        drawn += tag("path", d=paths[level], **shade)
    place = f"translate({number(x)} {number(y + cell[1] / 2)}) scale({cell[0]:.4g} {cell[1]:.4g})"
    return group(drawn, stroke=colour(fill), stroke_linecap="butt", transform=place)


def word_map(
    x: float,
    y: float,
    matrix: Any,
    *,
    rows: Sequence[object],
    columns: Sequence[object],
    size: float | tuple[float, float] = 24,
    largest: float | None = None,
    digits: int | None = None,
    rings: Collection[tuple[int, int]] = (),
    text: float = 12,
    name: str = "",
    upright: bool = False,
    mirror: bool = False,
    bold: tuple[Collection[int], Collection[int]] = ((), ()),
) -> str:
    """A matrix whose rows and columns are words; (x, y) is the corner of its first cell.

    Pointing at a cell shows its words and number, and lights its row and column. `digits` writes the numbers
    into the cells, `rings` marks some. `largest` is the number with the full colour: 1, unless one is larger.
    With `mirror`, pointing at (i, j) shows and lights (j, i), too.
    """
    array = np.asarray(matrix, dtype=float)
    same_length(array, rows, "rows of numbers", "words beside them")
    same_length(array[0], columns, "columns of numbers", "words under them")
    across, down = size if isinstance(size, tuple) else (size, size)
    finite = np.abs(array[np.isfinite(array)])
    largest = largest or max(1.0, float(finite.max(initial=0.0)))
    whole = across * len(columns), down * len(rows)
    out = box(x, y, *whole, "wash", radius=2)
    for (i, j), value in np.ndenumerate(array):
        fill, strength = shade(value, largest)
        left, top = x + across * j, y + down * i
        shown = "masked" if not math.isfinite(value) else minus(f"{value:.2f}")
        names, tip = [f"{name}row-{i}", f"{name}column-{j}"], f"{rows[i]}, {columns[j]}: {shown}"
        if mirror:
            names.append(f"{name}pair-{min(i, j)}-{max(i, j)}")
            tip += f" · {rows[j]}, {columns[i]}: {minus(f'{array[j, i]:.2f}')}" if i != j else ""
        own = belongs(*names, tip=tip) | {"class_": "cell"}
        place = left, top, across, down
        ink = "paper" if strength > 0.6 and math.isfinite(value) else "ink"
        middle, above = (left + across / 2, top + down / 2), ""
        if digits is not None and math.isfinite(value):
            above += word(middle[0], middle[1] + 4, minus(f"{value:.{digits}f}"), 11, ink)
        if (i, j) in rings:
            above += dot(*middle, min(across, down) * 0.3, "none", ink, 1.6)
        cell = box(*place, fill, radius=0, opacity=strength, **({} if above else own))
        out += group(cell + above, **own) if above else cell
    for i in range(len(rows) + 1):
        out += line([(x, y + down * i), (x + whole[0], y + down * i)], "paper", 1)
    for j in range(len(columns) + 1):
        out += line([(x + across * j, y), (x + across * j, y + whole[1])], "paper", 1)
    for i, text_of in enumerate(rows):
        place = x - 7, y + down * (i + 0.5) + 4
        drawn = word(*place, text_of, text, anchor="end", bold=i in bold[0])
        out += group(drawn, class_="word", **belongs(f"{name}row-{i}"))
    for j, text_of in enumerate(columns):
        left, top = x + across * (j + 0.5), y + down * len(rows) + 12
        turn = None if upright else f"rotate(-40 {number(left)} {number(top)})"
        anchor = "middle" if upright else "end"
        drawn = word(
            left + (0 if upright else 4), top, text_of, text, anchor=anchor, transform=turn, bold=j in bold[1]
        )
        out += group(drawn, class_="word", **belongs(f"{name}column-{j}"))
    return out
