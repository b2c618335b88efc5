"""The exercises of the course, by name. Only the lesson with the exercise is loaded.

>>> list(find_exercise("exact_match").inputs)
['translations', 'references']
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module

from course_lib.teaching.contents import lesson, lessons
from course_lib.teaching.exercises.exercise import Exercise

_loaded: dict[str, dict[str, Exercise]] = {}


@cache
def exercise_topics() -> dict[str, str]:
    """The topic of each exercise's lesson."""
    return {name: lesson.topic for lesson in lessons() for name in lesson.exercises}


def load_exercises(topic: str) -> dict[str, Exercise]:
    """The exercises that a lesson's exercises.py defines, by name."""
    if topic not in _loaded:
        module = import_module(f"{lesson(topic).package}.exercises")
        _loaded[topic] = {exercise.name: exercise for exercise in module.EXERCISES}
    return _loaded[topic]


def loaded_exercises() -> list[Exercise]:
    return [exercise for exercises in _loaded.values() for exercise in exercises.values()]


def find_exercise(name: str) -> Exercise:
    """The exercise of that name, or an error that helps with the spelling."""
    if name in exercise_topics():
        return load_exercises(exercise_topics()[name])[name]
    close_names = difflib.get_close_matches(name, exercise_topics(), n=1)
    names = ", ".join(exercise_topics())
    advice = f"Did you mean {close_names[0]!r}?" if close_names else f"Choose from: {names}."
    raise ValueError(f"Unknown exercise {name!r}. {advice}")
