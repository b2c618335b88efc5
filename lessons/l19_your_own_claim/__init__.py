"""Lesson 19: Your own claim."""

from course_lib.lazy import lazy

HOMES = {
    "by_length": "scores",
    "claim_report": "report",
    "concerns": "rules",
    "even": "rules",
    "faults": "model_checks",
    "make_system": "systems",
    "mirror": "rules",
    "points_lost": "scores",
    "recorded_run": "trials",
    "run_trial": "trials",
    "small_world": "corpus",
    "split_sizes": "corpus",
    "try_claim": "preregistration",
    "write_down": "preregistration",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
