"""Figures from arrays, never from models: what a lesson's cell shows, and what explorables are painted with.

    bars.py         numbers to be compared
    lines.py        how one number changes with another; panels side by side
    heatmap.py      a matrix of weights or scores; a gallery of them
    word_rows.py    sentences on the colours of their weights
    timeline.py     what happened in which year
    diagram.py      named boxes and arrows between them

    still.py        what all but the diagram become: a PNG with its alt text
    quick_text.py   text that can change many times a second

The functions below are a lesson's: numbers in, a picture out. What an explorable moves on axes of its own
stands beside them: `Bars`, `HorizontalBars` and `Blocks`, `Heatmap`, `marked_point`.
"""

from course_lib.views.bars import bars
from course_lib.views.diagram import diagram
from course_lib.views.heatmap import gallery, heatmap
from course_lib.views.lines import Part, lines, panels
from course_lib.views.still import Still
from course_lib.views.timeline import timeline
from course_lib.views.word_rows import word_rows

__all__ = [
    "Part",
    "Still",
    "bars",
    "diagram",
    "gallery",
    "heatmap",
    "lines",
    "panels",
    "timeline",
    "word_rows",
]
