"""Lesson 00: Start here."""

from course_lib.lazy import lazy

HOMES = {
    "AttentionLines": "attention_lines",
    "SoftmaxDial": "softmax_dial",
    "count_live": "long_sentences",
    "recorded_runs": "four_translators",
    "translate_with_all": "four_translators",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
