"""The teaching core: what a lesson calls to open, check, ask, predict and look back."""

from importlib import import_module

HOMES = {
    "check": "checking",
    "estimate": "guess",
    "explain": "explanation",
    "predict": "guess",
    "progress_summary": "summary",
    "quiz": "quizzes",
    "road_map": "lessons",
    "start_lesson": "opening",
    "yours": "own_functions",
}
__all__ = [*HOMES, "recorded"]


def __getattr__(name: str):
    """Loaded when a lesson asks for it: `course_lib progress` asks for none, and torch takes seconds."""
    if name == "recorded":
        return import_module("course_lib.recorded").recorded
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
