"""Lesson 13: The block."""

from course_lib.lazy import lazy

HOMES = {
    "in_place_of": "modules",
    "word_similarity": "similarity",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
