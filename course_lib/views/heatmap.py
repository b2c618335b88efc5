"""Heat maps: a matrix of scores or attention weights, one row per query and one column per key.

    >>> heatmap(weights, rows=["it", "was"], columns=["cat", "water", "cold"], title="Attention")
    >>> gallery({"A": weights, "B": other}, rows=target, columns=source, row_name="target", alt="Two maps.")

An explorable updates a heat map on its own axes:

    >>> cells = Heatmap(axes, ["it", "was"], ["cat", "water", "cold"])
    >>> cells.show(weights)

The colours of attention weights go from 0 (paper) to 1 (dark blue). Those of scores go from orange (negative)
to blue (positive), with 0 in the middle. A masked score (−inf) is grey.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.colors import Normalize, to_rgba

from course_lib import theme
from course_lib.formatting import minus
from course_lib.views.pillow_text import add_text
from course_lib.views.static_image import MARGIN, StaticImage, fit, to_array, to_labels

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

Kind = Literal["weights", "scores"]
MASKED = "#C9C6BD"
MAPS_PER_ROW = 3
CELL_SIZE, MAX_SIZE = (
    0.165,
    2.7,
)  # inches, in a gallery: the side of a cell, and the longer side of a map at most
LABEL_WIDTH, LABEL_HEIGHT = 0.62, 1.05  # inches, in a gallery: left of a map; under it, with the title above


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
) -> StaticImage:
    """A heat map of one matrix. `marks` draws rings in cells, each given as (row, column)."""
    cells = to_array(matrix, ndim=2, name="The matrix of a heat map")
    row_labels = to_labels(rows, count=cells.shape[0], name="Labels of the rows")
    column_labels = to_labels(columns, count=cells.shape[1], name="Labels of the columns")
    axes = theme.figure().subplots()
    panel = Heatmap(axes, row_labels, column_labels, kind=kind)
    panel.show(cells)
    axes.set(xlabel=column_name, ylabel=row_name)
    axes.set_title(title)
    if numbers:
        for (row, column), value in np.ndenumerate(cells):
            text, colour = minus(f"{value:.{digits}f}").replace("inf", "∞"), panel.text_colour(value)
            add_text(axes, column + 0.5, row + 0.5, text, ha="center", va="center", colour=colour, size=9.5)
    panel.draw_rings(marks, cells, diameter=9, width=1.6)
    side = min(0.6 if numbers else 0.42, 8.0 / max(cells.shape))  # of one cell, in inches
    fit(axes, width=side * cells.shape[1], height=side * cells.shape[0])
    largest = "no cell contains a number"
    if np.isfinite(cells).any():
        row, column = np.unravel_index(np.where(np.isfinite(cells), cells, -np.inf).argmax(), cells.shape)
        position = f"row {row_labels[row]}, column {column_labels[column]}"
        largest = f"the largest, {cells[row, column]:.{digits}f}, is in {position}"
    shown = "attention weights" if kind == "weights" else kind
    size = f"{len(row_labels)} by {len(column_labels)}"
    return StaticImage(axes.figure, alt=alt or f"{title or 'Heat map'}: {shown}, {size}; {largest}.")


def gallery(
    maps: Mapping[str, Any],
    *,
    rows: Any,
    columns: Any,
    row_name: str = "queries",
    column_name: str = "keys",
    marks: Collection[tuple[int, int]] = (),
    alt: str,
) -> StaticImage:
    """Up to nine heat maps of attention weights, each with its name. `marks` rings the same cells of each."""
    if not 1 <= len(maps) <= 9:
        raise ValueError(f"A gallery has 1 to 9 maps; {len(maps)} were given.")
    matrices = {name: to_array(matrix, ndim=2, name=f"Map {name!r}") for name, matrix in maps.items()}
    shape = next(iter(matrices.values())).shape
    row_labels = to_labels(rows, count=shape[0], name="Labels of the rows")
    column_labels = to_labels(columns, count=shape[1], name="Labels of the columns")
    n_rows = -(-len(maps) // MAPS_PER_ROW)
    n_columns = -(-len(maps) // n_rows)  # no row is much shorter than the others
    side = min(CELL_SIZE, MAX_SIZE / max(shape))
    width = n_columns * (side * shape[1] + LABEL_WIDTH) + 2 * MARGIN
    height = n_rows * (side * shape[0] + LABEL_HEIGHT) + 2 * MARGIN
    figure = theme.figure(width, height)
    inside = (MARGIN / width, MARGIN / height, 1 - 2 * MARGIN / width, 1 - 2 * MARGIN / height)
    figure.get_layout_engine().set(rect=inside, w_pad=0.05, h_pad=0.05)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for i, (name, matrix) in enumerate(matrices.items()):
        axes = grid[i]
        panel = Heatmap(axes, row_labels, column_labels)
        panel.show(matrix)
        axes.tick_params(labelsize=7.5, length=0, pad=1.5)
        axes.set_title(name, fontsize=12)
        panel.draw_rings(marks, matrix, diameter=4.5, width=1)
        if i % n_columns:
            axes.set_yticklabels([])
        if i < len(maps) - n_columns:
            axes.set_xticklabels([])
    for axes in grid[len(maps) :]:
        axes.set_visible(False)
    figure.supxlabel(column_name, fontsize=10, color=theme.SOFT_INK)
    figure.supylabel(row_name, fontsize=10, color=theme.SOFT_INK)
    return StaticImage(figure, alt=alt)


class Heatmap:
    """Cells with a thin line between them; row 0 is at the top."""

    def __init__(self, axes: Axes, rows: Sequence[str], columns: Sequence[str], *, kind: Kind = "weights"):
        if kind not in ("weights", "scores"):
            raise ValueError(f'A heat map shows kind="weights" or kind="scores", not {kind!r}.')
        self._axes, self._kind = axes, kind
        shape = (len(rows), len(columns))
        self._colours = (theme.WEIGHTS if kind == "weights" else theme.SCORES).with_extremes(bad=MASKED)
        lines = {"edgecolors": theme.HAIRLINE, "linewidth": 0.8}
        # pcolormesh, not imshow: it draws a matrix of this size twenty times faster
        self._mesh = axes.pcolormesh(np.zeros(shape), cmap=self._colours, norm=Normalize(0, 1), **lines)
        axes.set_xlim(0, shape[1])
        axes.set_ylim(shape[0], 0)
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(shape[0]) + 0.5, rows)
        axes.set_xticks(np.arange(shape[1]) + 0.5, columns)
        for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
            label.set_parse_math(False)  # `$x$` is a word here, not a formula
        if max(map(len, columns)) > 4:
            for label in axes.get_xticklabels():
                label.set(rotation=40, ha="right", rotation_mode="anchor")

    def show(self, matrix: np.ndarray) -> None:
        cells = np.ma.masked_invalid(matrix)
        largest = 1.0 if self._kind == "weights" else float(np.abs(cells).max() or 1.0)
        self._mesh.norm.vmin = 0.0 if self._kind == "weights" else -largest
        self._mesh.norm.vmax = largest
        self._mesh.set_array(cells)
        self._mesh.stale = True  # matplotlib marks it only if the scale changes too

    def text_colour(self, value: float) -> str:
        """The colour in which text is readable on a cell of this value."""
        return theme.ink_on(self._colours(self._mesh.norm(value)) if np.isfinite(value) else to_rgba(MASKED))

    def draw_rings(
        self, marks: Collection[tuple[int, int]], matrix: np.ndarray, *, diameter: float, width: float
    ) -> None:
        for row, column in sorted(marks):
            ring = {"ms": diameter, "mfc": "none", "mec": self.text_colour(matrix[row, column]), "mew": width}
            self._axes.plot(column + 0.5, row + 0.5, "o", **ring)
