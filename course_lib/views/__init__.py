"""Figures from arrays, never from models: what a lesson's cell shows."""

from course_lib.views.bars import bars
from course_lib.views.heatmap import heatmap
from course_lib.views.lines import lines
from course_lib.views.still import Still
from course_lib.views.timeline import timeline
from course_lib.views.word_rows import word_rows

__all__ = ["Still", "bars", "heatmap", "lines", "timeline", "word_rows"]
