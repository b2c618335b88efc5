"""Lesson 19: Your own claim."""

from course_lib.lazy import lazy

HOMES = {
    "claim_figure": "report",
    "claim_report": "report",
    "even": "rules",
    "faults": "model_checks",
    "loss_figure": "figures",
    "make_system": "systems",
    "mirror": "rules",
    "points_lost": "scores",
    "run_trial": "trials",
    "show_errors": "error_analysis",
    "show_errors_of_claim": "error_analysis",
    "small_world": "corpus",
    "split_sizes": "corpus",
    "try_claim": "preregistration",
    "write_down": "preregistration",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
