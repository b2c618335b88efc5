"""Explorables: figures with at most three controls, which a lesson shows and a learner moves.

    base.py         what all of them are: controls, facts, panels, goals
    control.py      what a learner may turn
    moving.py       a figure of which only the moving parts are painted again
    picture.py      the same on the page

Each explorable lives in the folder of the lesson that shows it, in a file of its own name.
"""

from course_lib.old_imports import refuse


def __getattr__(name: str):
    refuse(__name__, name)  # until version 0.1 the explorables of all lessons came from here
