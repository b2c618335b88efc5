"""Lesson 18: Comparing systems."""

from course_lib.lazy import lazy

HOMES = {
    "COLUMNS": "museum",
    "COSTS": "museum",
    "HIGHER": "museum",
    "Leaderboard": "leaderboard",
    "REAL": "museum",
    "TOY": "museum",
    "runs_of": "museum",
    "sentences_of": "sentences",
    "table": "museum",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
