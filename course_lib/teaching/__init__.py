"""What a lesson calls to open, check, ask, predict and look back, in the order in which a learner meets it.

opening.py          `start_lesson`: style, seeds, and a note that the lesson was opened
contents.py         the lessons in order (`road_map`), and what learners get wrong in them

checking.py         `check`: a learner's function is judged, the result remembered, what passed kept
exercises/          an exercise, and how an attempt at it comes to its verdict
own_code/           `yours`: what passed, kept in my_road.py and used by later lessons
questions/          `quiz`, `predict`, `estimate`, `explain`: the page asks, the kernel marks

progress.py         what the learner has done: one line an event, in one file (`progress_summary`)
display.py          the small HTML card in which all of them speak
"""

from importlib import import_module

HOMES = {
    "check": "teaching.checking",
    "estimate": "teaching.questions.guess",
    "explain": "teaching.questions.explanation",
    "predict": "teaching.questions.guess",
    "progress_summary": "teaching.progress",
    "quiz": "teaching.questions.quiz",
    "recorded": "recorded",
    "road_map": "teaching.contents",
    "start_lesson": "teaching.opening",
    "yours": "teaching.own_code.own_functions",
}
__all__ = list(HOMES)


def __getattr__(name: str):
    """Loaded when a lesson asks for it: `course_lib progress` asks for none, and torch takes seconds."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"course_lib.{HOMES[name]}"), name)
