"""Lesson 05: The distance between words."""

from course_lib.lazy import lazy

HOMES = {
    "PathRace": "path_race",
    "draw_stacks": "stack_drawing",
    "random_lstm": "random_networks",
    "random_rnn": "random_networks",
    "random_stack": "random_networks",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
