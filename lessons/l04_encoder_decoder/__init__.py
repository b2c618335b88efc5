"""Lesson 04: Encoder-decoder and its bottleneck."""

from course_lib.lazy import lazy

HOMES = {
    "OneVectorSuitcase": "one_vector_suitcase",
    "Scripted": "scripted",
    "translations_of": "read",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
