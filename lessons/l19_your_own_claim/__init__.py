"""Lesson 19: Your own claim."""

from course_lib.lazy import lazy

HOMES = {
    "by_length": "claim",
    "claim_report": "claim_book",
    "concerns": "claim",
    "even": "claim",
    "faults": "sound",
    "kept_run": "claim",
    "lost": "claim",
    "make_system": "claim",
    "mirror": "claim",
    "small_world": "claim",
    "split_sizes": "claim",
    "trial": "claim",
    "try_claim": "claim_book",
    "write_down": "claim_book",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
