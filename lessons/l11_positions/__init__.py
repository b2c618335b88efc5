"""Lesson 11: Positions."""

from course_lib.lazy import lazy

HOMES = {
    "ClockHands": "clock_hands",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
