"""Lesson 18: The museum."""

from course_lib.lazy import lazy

HOMES = {
    "COLUMNS": "museum",
    "COSTS": "museum",
    "HIGHER": "museum",
    "Leaderboard": "leaderboard",
    "REAL": "museum",
    "TOY": "museum",
    "runs_of": "museum",
    "table": "museum",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
