"""Lesson 04: Encoder-decoder and its bottleneck."""

from course_lib.lazy import lazy

HOMES = {
    "Scripted": "scripted",
    "held_out_pairs": "live_training",
    "short_batches": "live_training",
    "small_seq2seq": "live_training",
    "translations_of": "read",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
