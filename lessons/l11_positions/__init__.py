"""Lesson 11: Positions."""

from course_lib.lazy import lazy

HOMES = {
    "ClockHands": "clock_hands",
    "attend_with": "patching",
    "count_right": "patching",
    "exact_by_length": "by_length",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
