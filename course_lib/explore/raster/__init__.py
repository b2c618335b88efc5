"""Explorables drawn by matplotlib, as they were before the picture language.

Each one goes from here to SVG when its lesson is rewritten; the last takes this folder with it.

base.py          explorables whose panels are axes
blitting.py      a figure of which only the changing artists are drawn again
picture.py       the widget, which takes the tiles that changed
pillow_text.py   text that changes on every update
artists.py       bars, heat maps and dots on an explorable's own axes
"""
