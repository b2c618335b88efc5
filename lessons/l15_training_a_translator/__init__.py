"""Lesson 15: Training a translator."""

from course_lib.lazy import lazy

HOMES = {
    "FAULTY_RUNS": "training_settings",
    "HEALTHY": "training_settings",
    "LossFloor": "loss_floor",
    "RateDial": "rate_dial",
    "SmallRun": "small_run",
    "TrainingSettings": "training_settings",
    "apply_merges": "merges",
    "clipped": "by_hand",
    "short_data": "short_sentences",
    "train_live": "live_training",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
