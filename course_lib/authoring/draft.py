"""A lesson read, checked against the rules and put together: all that can be known before it runs.

>>> lesson_draft = draft(root / "notebooks/source/08_query_key_value/lesson.py", root)
>>> lesson_draft.notebook("solved")["metadata"]["course"]["title"]
'Query, key, value'
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from course_lib.authoring.anatomy import check_anatomy
from course_lib.authoring.built import BuiltCell
from course_lib.authoring.exercise import gather_steps
from course_lib.authoring.notebook import EDITIONS, as_notebook, assemble
from course_lib.authoring.problem import raise_all
from course_lib.authoring.source import Lesson, read_lesson


@dataclass(frozen=True)
class Draft:
    """A sound lesson and the cells of each of its editions."""

    lesson: Lesson
    cells: dict[str, list[BuiltCell]]

    def notebook(self, edition: str) -> dict:
        return as_notebook(self.lesson, self.cells[edition], edition)


def draft(path: Path, root: Path) -> Draft:
    """Read and check one source; all its problems are raised together."""
    lesson = read_lesson(path, root)
    steps, problems = gather_steps(lesson)
    cells = {edition: assemble(lesson, steps, edition) for edition in EDITIONS}
    raise_all([*problems, *check_anatomy(lesson, cells["learner"], cells["solved"])])
    return Draft(lesson, cells)


def sources(root: Path) -> list[Path]:
    """Every lesson source of the course, in order."""
    return sorted((root / "notebooks" / "source").glob("*/lesson.py"))


def target(root: Path, lesson: Lesson, edition: str) -> Path:
    """Where an edition is stored: the learner's beside its fellows, the others under build/."""
    folder = root / "notebooks" if edition == "learner" else root / "build" / edition
    return folder / f"{lesson.name}.ipynb"
