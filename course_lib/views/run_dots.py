"""One dot for each run, a row for each system: what varies between runs is seen, not summed up.

>>> run_dots({"Transformer": [10.0, 11.2, 13.0], "Bahdanau": [56.4, 58.0, 61.6]}, title="% correct")
Picture('% correct: Transformer: 10.0, 11.2, 13.0; Bahdanau: 56.4, 58.0, 61.6.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_lib.formatting import fixed, minus
from course_lib.views.picture import Picture
from course_lib.views.plane import Plane
from course_lib.views.shapes import run_rows
from course_lib.views.svg import width_of, word

Runs = Sequence[float]
ROW, SCALE, MARGIN = 24, 300, 16  # pixels


def in_words(rows: Mapping[str, Runs], digits: int = 1) -> str:
    """The numbers of every row, for the alt text."""
    return "; ".join(f"{name}: {', '.join(fixed(x, digits) for x in runs)}" for name, runs in rows.items())


def run_dots(
    rows: Mapping[str, Runs],
    *,
    title: str = "",
    fills: Mapping[str, str] | None = None,
    zero: bool = False,
    unit: str = "",
) -> Picture:
    """One row of dots for each name; with `zero`, there is a line at 0."""
    numbers = np.concatenate([[0.0] if zero else [], *rows.values()])
    numbers = numbers[np.isfinite(numbers)]
    least, most = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    margin = 0.05 * (most - least) or 0.05 * abs(most) or 0.5
    left, top = MARGIN + 12 + max(width_of(name, 12) for name in rows), 42 if title else 12
    height = ROW * len(rows)
    plane = Plane(left, top, SCALE, height, (least - margin, most + margin), (0, 1))
    ticks = {tick: minus(text) + unit for tick, text in round_numbers(least - margin, most + margin).items()}
    parts = [
        word(MARGIN, 26, title, 14, anchor="start", bold=True),
        run_rows(left, top, rows, plane, row=ROW, fills=fills, zero=zero),
        plane.scale_x(ticks),
    ]
    width = max(left + SCALE + MARGIN, width_of(title, 15) + 2 * MARGIN)
    return Picture(width, top + height + 28, *parts, alt=f"{title or 'Runs'}: {in_words(rows)}.")


def round_numbers(low: float, high: float, most: int = 6) -> dict[float, str]:
    """Round numbers between two limits, as a scale shows them.

    >>> round_numbers(0.2, 4.1)
    {1.0: '1', 2.0: '2', 3.0: '3', 4.0: '4'}
    """
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(float(power * unit) for unit in (1, 2, 5, 10) if power * unit >= rough)
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return {round(i * step, 10): f"{i * step:.{decimals}f}" for i in range(first, last + 1)}
