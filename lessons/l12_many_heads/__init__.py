"""Lesson 12: Multi-head attention."""

from course_lib.lazy import lazy

HOMES = {
    "HeadSwitches": "head_switches",
    "head_outputs": "patching",
    "minimal_batches": "patching",
    "predict_pronouns": "patching",
    "translate_with": "own_layer",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
