"""Lesson 06: Bahdanau attention."""

from course_lib.lazy import lazy

HOMES = {
    "AttentionEmerges": "attention_emerges",
    "AttentionStepper": "attention_stepper",
    "Steering": "steering",
    "train_and_film": "own_run",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
