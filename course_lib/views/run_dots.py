"""One dot for each run, a row for each system: what varies between runs is seen, not summed up.

    >>> runs = {"Transformer": [10.0, 11.2, 13.0], "Bahdanau": [56.4, 58.0, 61.6]}
    >>> figure, alt = run_dots(runs, title="% correct"), in_words(runs)
    >>> alt
    'Transformer: 10.0, 11.2, 13.0; Bahdanau: 56.4, 58.0, 61.6'

An explorable updates the dots on its own axes:

    >>> dots = RunDots(figure.axes[0], 2)
    >>> dots.show([[12.5, 13.0], [57.0, 61.0]], ["RCTM", "Bahdanau"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.static_image import fit

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Runs = Sequence[float]
ROW_HEIGHT, SCALE_WIDTH = 0.23, 3.6  # inches


def in_words(rows: Mapping[str, Runs], digits: int = 1) -> str:
    """The numbers of every row, for the alt text."""
    return "; ".join(f"{name}: {', '.join(fixed(x, digits) for x in runs)}" for name, runs in rows.items())


def run_dots(
    rows: Mapping[str, Runs], *, title: str = "", colours: Sequence[str] | None = None, zero: bool = False
) -> Figure:
    """A figure with one row of dots for each name; with `zero`, there is a line at 0."""
    axes = theme.figure().subplots()
    numbers = np.concatenate([[0.0] if zero else [], *rows.values()])
    numbers = numbers[np.isfinite(numbers)]
    least, most = (numbers.min(), numbers.max()) if len(numbers) else (0.0, 1.0)
    margin = 0.05 * (most - least) or 0.05 * abs(most) or 0.5
    axes.set_xlim(least - margin, most + margin)
    if zero:
        axes.axvline(0, color=theme.SOFT_INK, linewidth=1, zorder=0.6)
    RunDots(axes, len(rows)).show(list(rows.values()), list(rows), colours)
    axes.set_title(title)
    axes.locator_params(axis="x", nbins=6)
    fit(axes, width=SCALE_WIDTH, height=ROW_HEIGHT * len(rows) + 0.05)
    return axes.figure


def _plain_text(axes: Axes, x: float, y: float, *, coords: str, **style: Any) -> Any:
    return axes.text(x, y, "", transform=axes.transAxes, **style)


class RunDots:
    """Rows of dots on axes; x is in the units of their x axis, row 0 is at the top.

    `add` makes the names to the left of the dots: `add_text`, where an explorable changes them often.
    """

    def __init__(self, axes: Axes, n_rows: int, *, add: Callable[..., Any] = _plain_text, size: float = 9):
        axes.set(ylim=(n_rows - 0.5, -0.5), yticks=())
        axes.spines["left"].set_visible(False)
        [self._lines] = axes.plot([], [], color=theme.HAIRLINE, linewidth=0.8, zorder=0.5)
        self._dots = axes.scatter([], [], s=size**2 / 2.5, alpha=0.8, linewidths=0, zorder=3)
        heights = 1 - (np.arange(n_rows) + 0.5) / n_rows
        style = {"ha": "right", "va": "center", "size": size, "coords": "axes"}
        self.names = [add(axes, -0.02, y, **style) for y in heights]
        self._axes = axes

    def show(self, rows: Sequence[Runs], names: Sequence[str], colours: Sequence[str] | None = None) -> None:
        places, counts = np.arange(len(rows)), [len(runs) for runs in rows]
        low, high = self._axes.get_xlim()
        self._lines.set_data(np.tile([low, high, np.nan], len(rows)), np.repeat(places, 3))
        numbers = np.concatenate([[], *rows])
        self._dots.set_offsets(np.column_stack([numbers, np.repeat(places, counts)]))
        self._dots.set_facecolor(list(np.repeat(colours or [theme.BLUE] * len(rows), counts)))
        for number, text in enumerate(self.names):
            text.set_text(names[number] if number < len(names) else "")
