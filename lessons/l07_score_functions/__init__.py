"""Lesson 07: Score functions and Luong attention."""

from course_lib.lazy import lazy

HOMES = {
    "ScoreZoo": "score_zoo",
    "WindowLab": "window_lab",
    "onto_the": "forcing",
    "onto_the_noun": "forcing",
    "predictor": "forcing",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
