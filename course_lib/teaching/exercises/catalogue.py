"""The exercises of the course, by name. Only the lesson that has the exercise is loaded.

>>> list(exercise_called("double_it").inputs)
['numbers']
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module

from course_lib.teaching.contents import lesson, lessons
from course_lib.teaching.exercises.any_exercise import AnyExercise

_loaded: dict[str, dict[str, AnyExercise]] = {}


@cache
def topics() -> dict[str, str]:
    """The topic of the lesson that has each exercise, read from the headers of the lesson sources."""
    return {name: one.topic for one in lessons() for name in one.exercises}


def exercises_of(topic: str) -> dict[str, AnyExercise]:
    """The exercises of one lesson, which its `exercises.py` defines."""
    if topic not in _loaded:
        module = import_module(f"{lesson(topic).package}.exercises")
        _loaded[topic] = {one.name: one for one in module.EXERCISES}
    return _loaded[topic]


def loaded_exercises() -> list[AnyExercise]:
    """The exercises of every lesson that has been loaded so far."""
    return [one for exercises in _loaded.values() for one in exercises.values()]


def exercise_called(name: str) -> AnyExercise:
    """The exercise, or an error that helps with the name."""
    if name in topics():
        return exercises_of(topics()[name])[name]
    near = difflib.get_close_matches(name, topics(), n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(topics())}."
    raise ValueError(f"No exercise is called {name!r}. {advice}")
