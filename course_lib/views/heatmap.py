"""Heat maps: a matrix of scores or attention weights, one row per query and one column per key.

    >>> heatmap(weights, rows=["it", "was"], columns=["cat", "water", "cold"], title="Attention")
    >>> gallery({"A": weights, "B": other}, rows=target, columns=source, row_name="target", alt="Two maps.")

A weight of 1 has the full colour. Scores are blue (positive) or orange (negative), the largest the strongest.
A masked score (−inf) is grey.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np

from course_lib.views.cells import word_map
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.static_image import to_array, to_labels
from course_lib.views.svg import number, width_of, word

Kind = Literal["weights", "scores"]
MAPS_PER_ROW = 3
TEXT, MARGIN, HEAD = 12, 14, 34  # pixels: of the words, around everything, above a map that has a title


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
) -> Picture:
    """A heat map of one matrix. `marks` draws rings in cells, each given as (row, column)."""
    if kind not in ("weights", "scores"):
        raise ValueError(f'A heat map shows kind="weights" or kind="scores", not {kind!r}.')
    cells = to_array(matrix, ndim=2, name="The matrix of a heat map")
    row_labels = to_labels(rows, count=cells.shape[0], name="Labels of the rows")
    column_labels = to_labels(columns, count=cells.shape[1], name="Labels of the columns")
    left, below, upright = _room(row_labels, column_labels, 44 if numbers else 0)
    left += 18 * bool(row_name)
    across = min(46 if numbers else 30, (WIDTH - left - MARGIN) / cells.shape[1])
    down = min(28 if numbers else 30, across)
    top = MARGIN + HEAD * bool(title)
    width, height = across * cells.shape[1], down * cells.shape[0]
    middle = top + height / 2
    labels = {"rows": row_labels, "columns": column_labels, "upright": upright, "text": TEXT}
    shown = {"size": (across, down), "largest": _largest(cells, kind), "rings": marks}
    shown |= {"digits": digits} if numbers else {}
    parts = [
        word(MARGIN, 26, title, 15, anchor="start", bold=True),
        word(18, middle, row_name, TEXT, "soft", transform=f"rotate(-90 18 {number(middle)})"),
        word_map(left, top, cells, **labels, **shown),
        word(left + width / 2, top + height + below + 14, column_name, TEXT, "soft"),
    ]
    whole = max(left + width + MARGIN, width_of(title, 16) + 2 * MARGIN)
    return Picture(
        whole,
        top + height + below + 26,
        *parts,
        alt=alt or _describe(cells, row_labels, column_labels, title, kind, digits),
    )


def gallery(
    maps: Mapping[str, Any],
    *,
    rows: Any,
    columns: Any,
    row_name: str = "queries",
    column_name: str = "keys",
    marks: Collection[tuple[int, int]] = (),
    alt: str,
) -> Picture:
    """Up to nine heat maps of attention weights, each with its name. `marks` rings the same cells of each."""
    if not 1 <= len(maps) <= 9:
        raise ValueError(f"A gallery has 1 to 9 maps; {len(maps)} were given.")
    matrices = {name: to_array(matrix, ndim=2, name=f"Map {name!r}") for name, matrix in maps.items()}
    shape = next(iter(matrices.values())).shape
    row_labels = to_labels(rows, count=shape[0], name="Labels of the rows")
    column_labels = to_labels(columns, count=shape[1], name="Labels of the columns")
    for name, matrix in matrices.items():
        if matrix.shape != shape:
            raise ValueError(f"Map {name!r} has the shape {matrix.shape}; the first one has {shape}.")
    n_rows = -(-len(maps) // MAPS_PER_ROW)
    n_columns = -(-len(maps) // n_rows)  # no row is much shorter than the others
    left, below, upright = _room(row_labels, column_labels, 0)
    side = min(24, ((WIDTH - 2 * MARGIN) / n_columns - left) / shape[1])
    step = left + side * shape[1] + MARGIN, HEAD + side * shape[0] + below + MARGIN
    parts = []
    for i, (name, matrix) in enumerate(matrices.items()):
        x, y = left + step[0] * (i % n_columns), HEAD + step[1] * (i // n_columns)
        parts.append(word(x, y - 9, name, 13, anchor="start", bold=True))
        labels = {"rows": row_labels, "columns": column_labels, "upright": upright}
        parts.append(
            word_map(
                x, y, matrix, **labels, size=side, text=min(TEXT, max(11, side)), rings=marks, name=f"{i}-"
            )
        )
    width, height = step[0] * n_columns + MARGIN, step[1] * n_rows + 20
    says = f"rows: {row_name}, columns: {column_name}"
    parts.append(word(width - MARGIN, height - 8, says, TEXT, "soft", "end"))
    return Picture(width, height, *parts, alt=alt)


def _room(rows: list[str], columns: list[str], upright_width: float) -> tuple[float, float, bool]:
    """Pixels left of a map for its words, pixels below, and whether the words below stand upright."""
    left = MARGIN + max(width_of(text, TEXT) for text in rows) + 10
    widest = max(width_of(text, TEXT) for text in columns)
    upright = widest <= max(upright_width, 22)
    if not upright:
        left = max(left, MARGIN + 0.77 * width_of(columns[0], TEXT))
    return left, 18 if upright else 12 + 0.65 * widest, upright


def _largest(cells: np.ndarray, kind: Kind) -> float:
    finite = np.abs(cells[np.isfinite(cells)])
    return 1.0 if kind == "weights" else float(finite.max(initial=0.0)) or 1.0


def _describe(
    cells: np.ndarray, rows: list[str], columns: list[str], title: str, kind: Kind, digits: int
) -> str:
    largest = "no cell contains a number"
    if np.isfinite(cells).any():
        row, column = np.unravel_index(np.where(np.isfinite(cells), cells, -np.inf).argmax(), cells.shape)
        largest = (
            f"the largest, {cells[row, column]:.{digits}f}, is in row {rows[row]}, column {columns[column]}"
        )
    shown = "attention weights" if kind == "weights" else kind
    return f"{title or 'Heat map'}: {shown}, {len(rows)} by {len(columns)}; {largest}."
