"""A heat map: a matrix of scores or weights, one row a query, one column a key; or a gallery of them.

    >>> heatmap(weights, rows=["it", "was"], columns=["cat", "water", "cold"], title="Who looks where")
    >>> gallery({"A": weights, "B": other}, rows=said, columns=source, row_name="said")

On axes of an explorable, at every move:

    >>> cells = Heatmap(axes, ["it", "was"], ["cat", "water", "cold"])
    >>> cells.show(weights)

Weights run from 0 (paper) to 1 (dark blue). Scores run both ways from 0: blue above, orange below, the
scale as wide as the largest. A score of −inf (masked) is a grey cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgba

from course_lib import theme
from course_lib.formatting import minus
from course_lib.views.quick_text import quick_text
from course_lib.views.still import MARGIN, Still, as_labels, as_numbers, fit

Kind = Literal["weights", "scores"]
MASKED = "#C9C6BD"
IN_A_ROW = 3
CELL, MOST = 0.165, 2.7  # inches: the side of a cell, and of a map at most
WORDS, NAMES = 0.62, 1.05  # inches: for the words left of a map, and for the words under it with its title


def heatmap(
    matrix: Any,
    *,
    rows: Any,
    columns: Any,
    title: str = "",
    kind: Kind = "weights",
    numbers: bool = True,
    digits: int = 2,
    row_name: str = "queries",
    column_name: str = "keys",
    marks: Collection[tuple[int, int]] = (),
    alt: str | None = None,
) -> Still:
    """A still picture of a matrix. `marks` puts a ring into cells, (row, column) each."""
    cells = as_numbers(matrix, ndim=2, what="The matrix of a heat map")
    row_texts = as_labels(rows, count=cells.shape[0], what="Labels of the rows")
    column_texts = as_labels(columns, count=cells.shape[1], what="Labels of the columns")
    axes = theme.figure().subplots()
    panel = Heatmap(axes, row_texts, column_texts, kind=kind)
    panel.show(cells)
    axes.set(xlabel=column_name, ylabel=row_name)
    axes.set_title(title)
    if numbers:
        for (row, column), value in np.ndenumerate(cells):
            text, ink = _cell_text(value, digits), panel.ink_on(value)
            quick_text(axes, column + 0.5, row + 0.5, text, ha="center", va="center", colour=ink, size=9.5)
    for row, column in sorted(marks):
        ink = panel.ink_on(cells[row, column])
        axes.plot(column + 0.5, row + 0.5, "o", ms=9, mfc="none", mec=ink, mew=1.6)
    side = min(0.6 if numbers else 0.42, 8.0 / max(cells.shape))  # of one cell, in inches
    fit(axes, width=side * cells.shape[1], height=side * cells.shape[0])
    return Still(axes.figure, alt=alt or _describe(cells, row_texts, column_texts, title, kind, digits))


def _cell_text(value: float, digits: int) -> str:
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return minus(f"{value:.{digits}f}")


def _describe(
    cells: np.ndarray, rows: list[str], columns: list[str], title: str, kind: Kind, digits: int
) -> str:
    opening = f"{title or 'Heat map'}: {kind}, {len(rows)} by {len(columns)}"
    if not np.isfinite(cells).any():
        return f"{opening}; no cell holds a number."
    row, column = np.unravel_index(np.nanargmax(np.where(np.isfinite(cells), cells, -np.inf)), cells.shape)
    largest = f"{cells[row, column]:.{digits}f}"
    return f"{opening}; the largest, {largest}, is in row {rows[row]}, column {columns[column]}."


def gallery(
    maps: Mapping[str, Any],
    *,
    rows: Any,
    columns: Any,
    row_name: str = "queries",
    column_name: str = "keys",
    marks: Collection[tuple[int, int]] = (),
    alt: str,
) -> Still:
    """A still picture of up to nine maps of weights, each under its name; `marks` puts a ring into cells."""
    if not 1 <= len(maps) <= 9:
        raise ValueError(f"A gallery holds 1 to 9 maps; {len(maps)} were given.")
    cells = {name: as_numbers(each, ndim=2, what=f"Map {name!r}") for name, each in maps.items()}
    shape = next(iter(cells.values())).shape
    row_texts = as_labels(rows, count=shape[0], what="Labels of the rows")
    column_texts = as_labels(columns, count=shape[1], what="Labels of the columns")
    across = min(IN_A_ROW, len(maps))
    down = -(-len(maps) // across)
    side = min(CELL, MOST / max(shape))
    width = across * (side * shape[1] + WORDS) + 2 * MARGIN
    height = down * (side * shape[0] + NAMES) + 2 * MARGIN
    figure = theme.figure(width, height)
    inside = (MARGIN / width, MARGIN / height, 1 - 2 * MARGIN / width, 1 - 2 * MARGIN / height)
    figure.get_layout_engine().set(rect=inside, w_pad=0.05, h_pad=0.05)
    grid = figure.subplots(down, across, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number >= len(maps):
            axes.set_visible(False)
            continue
        name = list(cells)[number]
        panel = Heatmap(axes, row_texts, column_texts)
        panel.show(cells[name])
        axes.tick_params(labelsize=7.5, length=0, pad=1.5)
        axes.set_title(name, fontsize=12)
        for row, column in sorted(marks):
            ink = panel.ink_on(cells[name][row, column])
            axes.plot(column + 0.5, row + 0.5, "o", ms=4.5, mfc="none", mec=ink, mew=1)
        if number % across:
            axes.set_yticklabels([])
        if number < len(maps) - across:
            axes.set_xticklabels([])
    figure.supxlabel(column_name, fontsize=10, color=theme.SOFT_INK)
    figure.supylabel(row_name, fontsize=10, color=theme.SOFT_INK)
    return Still(figure, alt=alt)


class Heatmap:
    """Cells on axes, with a hairline between them; row 0 on top."""

    def __init__(self, axes: Axes, rows: Sequence[str], columns: Sequence[str], *, kind: Kind = "weights"):
        if kind not in ("weights", "scores"):
            raise ValueError(f'A heat map shows kind="weights" or kind="scores", not {kind!r}.')
        self._kind = kind
        shape = (len(rows), len(columns))
        self._map = (theme.WEIGHTS if kind == "weights" else theme.SCORES).with_extremes(bad=MASKED)
        # pcolormesh, not imshow: twenty times faster to draw for a matrix of this size
        self._mesh = axes.pcolormesh(
            np.zeros(shape), cmap=self._map, norm=Normalize(0, 1), edgecolors=theme.HAIRLINE, linewidth=0.8
        )
        axes.set_xlim(0, shape[1])
        axes.set_ylim(shape[0], 0)
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(shape[0]) + 0.5, rows)
        axes.set_xticks(np.arange(shape[1]) + 0.5, columns)
        for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
            label.set_parse_math(False)  # words may come from anywhere, and `$x$` is one
        if max(map(len, columns)) > 4:
            for label in axes.get_xticklabels():
                label.set(rotation=40, ha="right", rotation_mode="anchor")

    def show(self, matrix: np.ndarray) -> None:
        cells = np.ma.masked_invalid(matrix)
        reach = 1.0 if self._kind == "weights" else float(np.abs(cells).max() or 1.0)
        self._mesh.norm.vmin = 0.0 if self._kind == "weights" else -reach
        self._mesh.norm.vmax = reach
        self._mesh.set_array(cells)
        self._mesh.stale = True  # matplotlib says so only where the scale changes too

    def ink_on(self, value: float) -> str:
        """The text colour that reads well on a cell of this value."""
        return theme.ink_on(self._map(self._mesh.norm(value)) if np.isfinite(value) else to_rgba(MASKED))
