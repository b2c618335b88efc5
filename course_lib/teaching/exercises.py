"""Every exercise of the course, by name. A lesson's exercises live in its folder, in exercises.py.

>>> list(EXERCISES["double_it"].inputs)
['numbers']
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from course_lib.teaching.lessons import lessons
from course_lib.teaching.task import Task


def load(path: Path) -> ModuleType:
    """A Python file of a lesson's folder: these folders are no packages, their names begin with a number."""
    spec = spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BY_LESSON: dict[str, tuple[Task, ...]] = {
    one.topic: load(one.folder / "exercises.py").EXERCISES for one in lessons()
}

EXERCISES: dict[str, Task] = {one.name: one for group in BY_LESSON.values() for one in group}
