"""Lesson 08: Query, key, value."""

from course_lib.lazy import lazy

HOMES = {
    "SaturationLab": "saturation_lab",
    "SoftDictionary": "soft_dictionary",
    "WhoAttends": "who_attends",
    "spreads": "score_spread",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
