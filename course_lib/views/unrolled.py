"""A recurrent network along a sentence: states as columns of cells, and the words that it expects next.

>>> states, xs = [[0.9, -0.2], [0.1, 0.4]], [60, 120]
>>> columns = chain(xs, 40, states)  # of cells, and an arrow from each to the next
>>> arrows = feeds(xs, 140, 110)  # from the words below
>>> bars = guesses(60, 20, [("eau", 0.94), ("lait", 0.02)])  # as long as the probabilities
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.formatting import minus
from course_lib.views.cells import cells, shade
from course_lib.views.svg import belongs, box, group, line, path, word

EDGE, APART = 3, 4  # pixels: from the cells to their frame, from a frame to an arrow


def column(
    x: float,
    y: float,
    values: Any,
    size: float = 11,
    *,
    stroke: str = "calm",
    tip: str = "",
    largest: float = 1.0,
) -> str:
    """A vector as a framed column of cells around x, below y; pointing at it shows its numbers."""
    array = np.ravel(np.asarray(values, dtype=float))
    frame = box(
        x - size / 2 - EDGE, y, size + 2 * EDGE - 1, height_of(len(array), size), "paper", stroke, line=1.2
    )
    read = f"{tip}: " + " ".join(minus(f"{value:.2f}") for value in array)
    return group(
        frame + cells(x - size / 2, y + EDGE, array, size, columns=1, largest=largest), **belongs(tip=read)
    )


def height_of(n_numbers: int, size: float = 11) -> float:
    """How far the frame of a `column` reaches down."""
    return size * n_numbers + 2 * EDGE - 1


def chain(
    places: Sequence[float], y: float, states: Any, *, stroke: str = "soft", tips: Sequence[str] = ()
) -> str:
    """A column for each state, and an arrow from each to the next, in the middle of their height."""
    half, out = 11 / 2 + EDGE + APART, ""
    middle = y + height_of(np.asarray(states).shape[-1]) / 2
    for x, after in pairwise(places):
        out += line([(x + half - 1, middle), (after - half, middle)], stroke, 1.4, head=True)
    for i, (x, state) in enumerate(zip(places, states, strict=True)):
        out += column(x, y, state, tip=tips[i] if tips else "state")
    return out


def feeds(places: Sequence[float], start: float, end: float, stroke: str = "soft") -> str:
    """An upright arrow at each place: what goes into a state from below, or comes out above."""
    return "".join(line([(x, start), (x, end)], stroke, 1.4, head=True) for x in places)


def guesses(
    x: float, y: float, best: Sequence[tuple[str, float]], *, bold: str = "", width: float = 48
) -> str:
    """Words with their probabilities around x, the first with its baseline at y; one may be bold."""
    out, left = "", x - width / 2
    for i, (name, probability) in enumerate(best):
        lit, top = name == bold, y - 11 + 17 * i
        drawn = box(left, top, width, 15, "wash", radius=2)
        drawn += box(left, top, width * probability, 15, "calm", radius=2, opacity=0.45)
        drawn += word(left + 3, top + 11, name, 11, "ink" if lit else "soft", "start", bold=lit)
        out += group(drawn, **belongs(tip=f"{name}: {probability:.3f}"))
    return out


def tiny_cells(x: float, y: float, matrix: Any, wide: float, high: float, largest: float = 1.0) -> str:
    """A matrix as tiny cells: one path for each shade, so that hundreds of numbers remain small."""
    shades = defaultdict(str)
    for (i, j), value in np.ndenumerate(np.asarray(matrix)):
        fill, strength = shade(float(value), largest)
        corner, around = f"M{x + wide * j:.1f} {y + high * i:.1f}", f"h{wide - 0.8:.1f}v{high - 0.8:.1f}"
        shades[fill, f"{strength:.1f}"] += f"{corner}{around}h{0.8 - wide:.1f}z"
    return "".join(path(d, "none", 0, fill=fill, fill_opacity=level) for (fill, level), d in shades.items())
