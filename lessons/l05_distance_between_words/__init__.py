"""Lesson 05: The distance between words."""

from course_lib.lazy import lazy

HOMES = {
    "PathRace": "path_race",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
