"""Lesson 15: Training a translator."""

from course_lib.lazy import lazy

HOMES = {
    "EOS": "small_run",
    "HEALTHY": "small_run",
    "Habits": "small_run",
    "LossFloor": "loss_floor",
    "PATIENTS": "small_run",
    "RateDial": "rate_dial",
    "SmallRun": "small_run",
    "apply_merges": "merges",
    "said": "small_run",
    "short_data": "small_run",
    "train_live": "live_training",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
