"""Every exercise of the course, by name. A lesson's exercises live in its folder, in exercises.py.

>>> list(EXERCISES["double_it"].inputs)
['numbers']
"""

from __future__ import annotations

import difflib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises.any_exercise import AnyExercise


def load(path: Path) -> ModuleType:
    """A Python file of a lesson's folder: these folders are no packages, their names begin with a number."""
    spec = spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BY_LESSON: dict[str, tuple[AnyExercise, ...]] = {
    one.topic: load(one.folder / "exercises.py").EXERCISES for one in lessons()
}

EXERCISES: dict[str, AnyExercise] = {one.name: one for group in BY_LESSON.values() for one in group}


def exercise_called(name: str) -> AnyExercise:
    """The exercise, or an error that helps with the name."""
    if name in EXERCISES:
        return EXERCISES[name]
    near = difflib.get_close_matches(name, EXERCISES, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(EXERCISES)}."
    raise ValueError(f"No exercise is called {name!r}. {advice}")
