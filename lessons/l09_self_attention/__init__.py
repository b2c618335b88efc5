"""Lesson 09: Self-attention."""

from course_lib.lazy import lazy

HOMES = {
    "ATTENTIONS": "pronoun",
    "CloseAWord": "close_a_word",
    "equal_weights": "interventions",
    "listen": "pronoun",
    "listen_alone": "interventions",
    "source_states": "interventions",
    "speak": "interventions",
    "taken_apart": "interventions",
    "translate_alone": "interventions",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
