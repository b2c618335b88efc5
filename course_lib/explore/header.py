"""The line on top of an explorable's picture: its title left, its state right.

The state stands in the picture because a stored notebook shows the picture without its controls.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib import theme
from course_lib.views.quick_text import QuickText, quick_text

MARGIN, LINE, ROOM = 0.14, 0.34, 0.46  # inches: paper at the edges, top to baseline, top to panels


def header(figure: Figure, title: str) -> QuickText:
    """Write the title, leave room for it, and return the text of the state, which moves."""
    width, height = figure.get_size_inches()
    left, bottom, baseline = MARGIN / width, MARGIN / height, 1 - LINE / height
    figure.get_layout_engine().set(
        rect=(left, bottom, 1 - 2 * left, 1 - bottom - ROOM / height), w_pad=0.06, h_pad=0.03
    )
    figure.text(left, baseline, title, fontsize=13, fontweight="bold", in_layout=False)
    return quick_text(figure, 1 - left, baseline, ha="right", colour=theme.SOFT_INK, size=11)
