"""Lesson 15: Training a translator."""

from course_lib.lazy import lazy

HOMES = {
    "FAULTY_RUNS": "training_settings",
    "FULL_RUN": "training_settings",
    "HEALTHY": "training_settings",
    "LossFloor": "loss_floor",
    "SENTENCES": "training_settings",
    "TrainingSettings": "training_settings",
    "TranslatorRun": "translator_run",
    "apply_merges": "merges",
    "class_to_train": "chosen_file",
    "clipped": "clipping",
    "file_to_train": "chosen_file",
    "full_data": "short_sentences",
    "run_folder": "live_training",
    "short_data": "short_sentences",
    "train_live": "live_training",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
