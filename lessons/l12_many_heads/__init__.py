"""Lesson 12: Many heads."""

from course_lib.lazy import lazy

HOMES = {
    "HeadCount": "head_count",
    "HeadSwitches": "head_switches",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
