"""Explorables: pictures with at most three controls. Each lives in the folder of the lesson that shows it.

base.py           the base class: controls, facts, picture, goals
control.py        the kinds of controls
live_picture.py   the widget on the page; live.js is also the reading edition's
live_view.py      how widgets show themselves in a notebook
raster/           explorables that are still drawn by matplotlib
"""
