"""Pictures from words and numbers, never from models.

svg.py              words, lines, boxes and dots: all pictures are made of them
picture.py          a picture with its size and alt text
words.py, cells.py, shapes.py, plane.py   parts of pictures that explorables and figures compose
heatmap.py, bars.py, word_rows.py, run_dots.py, translations.py   whole figures
unrolled.py         a chain of states over words; transformer_map.py, where one is in the Transformer
lines.py            curves, by matplotlib, in the same colours; static_image.py makes them PNG
"""

from course_lib.views.bars import bars
from course_lib.views.heatmap import gallery, heatmap
from course_lib.views.lines import Part, lines, panels
from course_lib.views.picture import Picture
from course_lib.views.run_dots import run_dots
from course_lib.views.static_image import StaticImage
from course_lib.views.transformer_map import transformer_map
from course_lib.views.translations import translations
from course_lib.views.word_rows import word_rows

__all__ = [
    "Part",
    "Picture",
    "StaticImage",
    "bars",
    "gallery",
    "heatmap",
    "lines",
    "panels",
    "run_dots",
    "transformer_map",
    "translations",
    "word_rows",
]
