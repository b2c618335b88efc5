"""A figure made to measure: the axes get the size that is asked for, the figure grows around their labels.

>>> drawn, axes = theme.figure(), ...
>>> fit(axes, width=4.0, height=2.5)        # inches of the axes; no label is ever cut off
"""

from __future__ import annotations

from matplotlib.axes import Axes

MARGIN = 0.14  # inches of paper around everything


def fit(axes: Axes, *, width: float, height: float) -> None:
    """Give the axes this size and the figure the smallest size that holds axes, labels and title."""
    figure = axes.figure
    figure.set_layout_engine("none")
    figure.set_size_inches(width, height)
    axes.set_position((0, 0, 1, 1))
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    left, right, bottom, top = (edge / figure.dpi for edge in (box.x0, box.x1, box.y0, box.y1))
    whole_width, whole_height = right - left + 2 * MARGIN, top - bottom + 2 * MARGIN
    figure.set_size_inches(whole_width, whole_height)
    axes.set_position(
        (
            (MARGIN - left) / whole_width,
            (MARGIN - bottom) / whole_height,
            width / whole_width,
            height / whole_height,
        )
    )
