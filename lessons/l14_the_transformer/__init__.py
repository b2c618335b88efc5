"""Lesson 14: The full Transformer."""

from course_lib.lazy import lazy

HOMES = {
    "SKELETON": "skeleton",
    "XRay": "xray",
    "reference_text": "file_slips",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
