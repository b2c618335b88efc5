"""What a lesson calls to open, check, ask and predict, and to show progress.

opening.py          `start_lesson`: style, seeds, and a record that the lesson was opened
contents.py         the lessons in order, and common misconceptions
track.py            the full course or the short track, and the table where learners choose (`road_map`)
catching_up.py      `catch_up`: everything above a section, for a learner who fell behind

checking.py         `check`: judge a learner's function, record the result, keep what passed
exercises/          how exercises are declared, and how an attempt is judged
softmax_slips.py    slips that every exercise about attention shares
own_code/           `yours`: what passed, kept in my_road.py and used by later lessons
code_reading.py     what can be read from a function without calling it
questions/          `quiz`, `predict`, `estimate`, `explain`: the page asks, the kernel marks

progress.py         what the learner has done: one line per event, in one file (`progress_summary`)
display.py          the small HTML card that shows verdicts and progress
"""

from course_lib.lazy import lazy

HOMES = {
    "catch_up": "catching_up",
    "check": "checking",
    "count_own_calls": "own_code.loading",
    "estimate": "questions.guess",
    "explain": "questions.explanation",
    "list_own_functions": "own_code.kept_file",
    "predict": "questions.guess",
    "progress_summary": "progress",
    "quiz": "questions.quiz",
    "road_map": "track",
    "start_lesson": "opening",
    "yours": "own_code.kept_functions",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
