"""Lesson 01: Guessing the next word."""

from course_lib.lazy import lazy

HOMES = {
    "WordByWord": "word_by_word",
    "embedding_map": "embeddings",
    "nearest_neighbours": "embeddings",
    "ngrams": "examples",
    "windows": "examples",
    "word_classes": "embeddings",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
