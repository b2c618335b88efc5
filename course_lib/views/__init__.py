"""Figures drawn from arrays, never from models.

The functions below take numbers and return an image, for a lesson's cell. Explorables update artists on
their own axes: `Bars`, `HorizontalBars`, `Rectangles` (bars.py), `Heatmap` (heatmap.py), `add_marker`
(lines.py) and `add_text` (pillow_text.py).
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
