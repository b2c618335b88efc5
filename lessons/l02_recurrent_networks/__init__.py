"""Lesson 02: Recurrent networks."""

from course_lib.lazy import lazy

HOMES = {
    "GradientTelephone": "gradient_telephone",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
