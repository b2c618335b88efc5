"""Figures from arrays, never from models: what a lesson's cell shows."""

from course_lib.views.bars import bars
from course_lib.views.diagram import diagram
from course_lib.views.heatmap import gallery, heatmap
from course_lib.views.lettering import timeline, word_rows
from course_lib.views.lines import Part, lines, panels
from course_lib.views.still import Still

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
