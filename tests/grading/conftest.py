"""A course folder for nbgrader with one graded lesson, made once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.grading.course_folder import write_course_folder

LESSON = "06_bahdanau_attention"


class CourseFolder:
    """A folder that nbgrader works in, as a grader whose own progress must not change."""

    def __init__(self, path: Path, home: Path):
        self.path, self.home = path, home

    def nbgrader(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        removed = ("COURSE_", "PYTEST_", "XDG_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
        environment |= {
            "HOME": str(self.home),
            "OMP_NUM_THREADS": "1",
            # nbgrader calls a program of its environment, alembic
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT_ROOT),
        }
        command = [sys.executable, "-m", "nbgrader", *words]
        return subprocess.run(
            command, cwd=self.path, env=environment | variables, capture_output=True, text=True
        )

    def notebook(self, stage: str, lesson: str = LESSON, student: str = "") -> Path:
        return self.path / stage / student / lesson / f"{lesson}.ipynb"

    def scores(self, lesson: str = LESSON) -> dict[str, dict[str, float]]:
        """The points of every graded student, by check."""
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.path}/gradebook.db") as gradebook:
            return {
                submission.student.id: {grade.name: grade.score for grade in notebook.grades}
                for submission in gradebook.assignment_submissions(lesson)
                for notebook in submission.notebooks
                if self.notebook("autograded", lesson, submission.student.id).exists()
            }


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> CourseFolder:
    folder = tmp_path_factory.mktemp("grading")
    (folder / "home").mkdir()
    made = CourseFolder(folder / "course", folder / "home")
    assert write_course_folder([], made.path) == 0
    return made
