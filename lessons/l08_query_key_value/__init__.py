"""Lesson 08: Query, key, value."""

from course_lib.lazy import lazy

HOMES = {
    "SaturationLab": "saturation_lab",
    "SoftDictionary": "soft_dictionary",
    "training_curves": "run_curves",
    "word_lines": "lines_from_a_word",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
