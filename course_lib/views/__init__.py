"""Figures drawn from arrays, never from models.

bars.py, lines.py, heatmap.py   charts, and the artists that explorables update on their own axes
word_rows.py                    sentences with each word on the colour of its attention weight
timeline.py                     events by year
diagram.py                      named boxes and arrows
run_dots.py                     one dot for each run, a row for each system
static_image.py                 a figure as PNG bytes with alt text
pillow_text.py                  text that changes on every update
"""

from course_lib.views.bars import bars
from course_lib.views.diagram import diagram
from course_lib.views.heatmap import gallery, heatmap
from course_lib.views.lines import Part, lines, panels
from course_lib.views.static_image import StaticImage
from course_lib.views.timeline import timeline
from course_lib.views.word_rows import word_rows

__all__ = [
    "Part",
    "StaticImage",
    "bars",
    "diagram",
    "gallery",
    "heatmap",
    "lines",
    "panels",
    "timeline",
    "word_rows",
]
