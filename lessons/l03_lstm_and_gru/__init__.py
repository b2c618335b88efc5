"""Lesson 03: LSTM and GRU."""

from course_lib.lazy import lazy

HOMES = {
    "GateMixer": "gate_mixer",
    "recall": "tasks",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
