"""Lesson 09: Self-attention."""

from course_lib.lazy import lazy

HOMES = {
    "CloseAWord": "close_a_word",
    "HEADS": "pronoun",
    "decode_states": "interventions",
    "equal_weights": "interventions",
    "listen": "pronoun",
    "listen_alone": "interventions",
    "source_states": "interventions",
    "take_apart": "interventions",
    "translate_alone": "interventions",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
