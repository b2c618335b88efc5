"""The widget that shows an explorable's picture, its alt text and its goals.

`ipywidgets.Image` has no alt text and takes the whole picture for every update. This widget has an `alt` that
a screen reader announces when it changes, and takes only the tiles that changed.
"""

from __future__ import annotations

from traitlets import Bytes, Int

from course_lib import theme
from course_lib.explore.live_picture import ExplorableWidget, read
from course_lib.explore.raster.blitting import TILE


class TilePicture(ExplorableWidget):
    _esm = read("goals.js") + read("raster/picture.js")
    _css = theme.PAGE_STYLE + read("explorable.css")
    width = Int().tag(sync=True)  # pixels drawn; the page shows half as many
    height = Int().tag(sync=True)
    tile = Int(TILE).tag(sync=True)
    background = Bytes().tag(sync=True)  # a PNG
    tile_numbers = Bytes().tag(sync=True)  # of the changed tiles, two bytes each
    tiles = Bytes().tag(sync=True)  # their pixels, compressed by zlib
