"""The teaching core: what a lesson calls to open, check, ask, predict and look back."""

from course_lib.recorded import recorded
from course_lib.teaching.checking import check
from course_lib.teaching.explanation import explain
from course_lib.teaching.guess import estimate, predict
from course_lib.teaching.lessons import road_map
from course_lib.teaching.opening import start_lesson
from course_lib.teaching.quiz import quiz
from course_lib.teaching.summary import progress_summary
from course_lib.teaching.yours import yours

__all__ = [
    "check",
    "estimate",
    "explain",
    "predict",
    "progress_summary",
    "quiz",
    "recorded",
    "road_map",
    "start_lesson",
    "yours",
]
