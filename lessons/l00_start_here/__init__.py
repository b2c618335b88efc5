"""Lesson 00: Start here."""

from course_lib.lazy import lazy

HOMES = {
    "SoftmaxDial": "softmax_dial",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
