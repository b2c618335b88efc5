"""Lesson 00: Start here."""

from course_lib.lazy import lazy

HOMES = {
    "AttentionLines": "attention_lines",
    "LONG_SENTENCE": "long_sentences",
    "SoftmaxDial": "softmax_dial",
    "percent_correct": "long_sentences",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
