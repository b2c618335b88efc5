"""A gallery: heat maps of equal shape side by side, three in a row, so that they can be compared at a glance.

>>> gallery({"A": weights, "B": other}, rows=said, columns=source, row_name="said", column_name="looked at")
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from course_lib import theme
from course_lib.views.heatmap import Heatmap
from course_lib.views.still import MARGIN, Still, as_labels, as_numbers

IN_A_ROW = 3
CELL, MOST = 0.165, 2.7  # inches: the side of a cell, and of a map at most
WORDS, NAMES = 0.62, 1.05  # inches: for the words left of a map, and for the words under it with its title


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
