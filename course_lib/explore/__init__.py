"""Explorables: figures with at most three controls. Each lives in the folder of the lesson that shows it.

base.py         the base class: controls, facts, panels, goals
control.py      the kinds of controls
blitting.py     a figure of which only the changing artists are drawn again
picture.py      the widget on the page
live_view.py    how widgets show themselves in a notebook
"""
