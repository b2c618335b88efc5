"""Lesson 04: Encoder-decoder and its bottleneck."""

from course_lib.lazy import lazy

HOMES = {
    "Scripted": "scripted",
    "by_length": "readout",
    "context_vectors": "readout",
    "fit_readout": "readout",
    "fraction_found": "readout",
    "held_out_pairs": "live_training",
    "make_texts": "readout",
    "read_scores": "readout",
    "short_batches": "live_training",
    "small_seq2seq": "live_training",
    "words_in": "readout",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
