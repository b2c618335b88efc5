"""Numbers with names: bars, and dots per run.

>>> side_bars(80, 20, ["il", "elle"], [0.93, 0.02])
>>> run_rows(90, 30, {"Bahdanau": [58.2, 61.0, 57.9]}, plane)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_lib.formatting import minus
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, group, line, word
from course_lib.views.words import same_length


def side_bars(
    x: float,
    y: float,
    names: Sequence[str],
    values: Sequence[float],
    *,
    width: float = 120,
    largest: float = 1.0,
    row: float = 24,
    digits: int = 2,
    fill: str = "query",
    lit: Sequence[int] = (),
    own: Sequence[str] = (),
) -> str:
    """A bar to the right of x for each number, its name left of x; negative ones go to the left.

    `own` are the names by which bars light up, if other parts of the picture have them, too.
    """
    same_length(values, names, "values", "names")
    out = ""
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        middle, length = y + row * (i + 0.5), width * min(1.0, abs(value) / largest)
        shown = minus(f"{value:.{digits}f}")
        if value and not float(f"{value:.{digits}f}"):
            shown = f"< {10.0**-digits:g}"
        said = "accent" if i in lit else fill
        bar = box(x - (length if value < 0 else 0), middle - 7, max(1.5, length), 14, said, radius=2)
        bar += word(x + (length if value > 0 else 0) + 6, middle + 4, shown, 12, "soft", "start")
        label = word(
            x - 7 - (length if value < 0 else 0),
            middle + 4,
            name,
            13,
            "accent" if i in lit else "ink",
            "end",
            bold=i in lit,
        )
        out += group(
            label + bar, class_="bar", **belongs(own[i] if own else f"bar-{i}", tip=f"{name}: {shown}")
        )
    return out


def stacked(runs: Sequence[float]) -> list[float]:
    """How far up or down each dot is moved, so that equal runs don't hide each other.

    >>> stacked([84, 94.2, 84])
    [-3.5, 0.0, 3.5]
    """
    numbers = list(runs)
    return [7 * (numbers[:i].count(x) - (numbers.count(x) - 1) / 2) for i, x in enumerate(numbers)]


def run_rows(
    left: float,
    top: float,
    rows: Mapping[str, Sequence[float]],
    plane: Plane,
    *,
    row: float = 24,
    digits: int = 1,
    fills: Mapping[str, str] | None = None,
    zero: bool = False,
) -> str:
    """One dot for each run, a row for each system: what varies between runs is seen, not summed up.

    `plane` says where a number is across; `zero` draws the line at 0.
    """
    bottom = top + row * len(rows)
    out = line([(plane.at(0, 0)[0], top - 4), (plane.at(0, 0)[0], bottom + 4)], "soft") if zero else ""
    for i, (name, runs) in enumerate(rows.items()):
        middle, fill = top + row * (i + 0.5), (fills or {}).get(name, "query")
        out += word(left - 8, middle + 4, name, 12, anchor="end")
        out += line([(plane.left, middle), (plane.left + plane.width, middle)], "hair")
        for run, up in zip(np.asarray(runs, dtype=float), stacked(runs), strict=True):
            tip = belongs(tip=f"{name}: {minus(f'{run:.{digits}f}')}")
            x, y = plane.at(run, 0)[0], middle + up
            out += dot(x, y, 5, fill, "paper", 1, fill_opacity="0.8", class_="run", **tip)
    return out
