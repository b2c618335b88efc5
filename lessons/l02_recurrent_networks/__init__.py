"""Lesson 02: Recurrent networks."""

from course_lib.lazy import lazy

HOMES = {
    "GradientTelephone": "gradient_telephone",
    "accuracy_with_the_same_middle": "state_probe",
    "held_out_accuracy": "state_probe",
    "last_states": "state_probe",
    "make_beginnings": "state_probe",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
