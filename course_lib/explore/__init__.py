"""Explorables: figures with at most three controls. Each lives in the folder of the lesson that shows it."""

from course_lib.old_imports import refuse


def __getattr__(name: str):
    refuse(__name__, name)  # until version 0.1 the explorables of all lessons came from here
