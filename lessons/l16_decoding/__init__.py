"""Lesson 16: Decoding and measuring."""

from course_lib.lazy import lazy

HOMES = {
    "BeamTree": "beam_tree",
    "LiveTranslator": "live_translator",
    "Recompute": "recompute",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
