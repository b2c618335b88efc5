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

from course_lib.lazy import lazy

HOMES = {
    "check": "checking",
    "count_own_calls": "own_code.call_counts",
    "estimate": "questions.guess",
    "explain": "questions.explanation",
    "list_own_functions": "own_code.kept_file",
    "predict": "questions.guess",
    "progress_summary": "progress",
    "quiz": "questions.quiz",
    "road_map": "contents",
    "start_lesson": "opening",
    "yours": "own_code.kept_functions",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
