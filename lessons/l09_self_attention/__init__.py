"""Lesson 09: Self-attention."""

from course_lib.lazy import lazy

HOMES = {
    "CloseAWord": "close_a_word",
    "decode_states": "interventions",
    "masked_translation": "pronoun",
    "minimal_pairs": "interventions",
    "source_states": "interventions",
    "take_apart": "interventions",
    "translate_isolated": "interventions",
    "uniform_attention": "interventions",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
