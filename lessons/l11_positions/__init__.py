"""Lesson 11: Positions."""

from course_lib.lazy import lazy

HOMES = {
    "ClockHands": "clock_hands",
    "attend_with": "patching",
    "attention_layers": "patching",
    "count_right": "scores",
    "encode_pairs": "scores",
    "exact_by_length": "scores",
    "percent_exact": "scores",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
