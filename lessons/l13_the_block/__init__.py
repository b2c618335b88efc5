"""Lesson 13: The block."""

from course_lib.lazy import lazy

HOMES = {
    "PathPast": "path_past",
    "WhichMean": "which_mean",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
