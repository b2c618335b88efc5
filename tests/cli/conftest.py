"""A course folder of nothing but its pins, whose Python is the one that runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from course_lib.cli.place import Place

PYPROJECT = """
[build-system]
requires = ["setuptools==84.2.1"]
[project]
dependencies = ["no-such-package==1.0"]
optional-dependencies.test = ["no-such-test-package==2.0"]
[project.scripts]
course = "course_lib.cli:main"
"""


class TryPlace(Place):
    @property
    def python(self) -> Path:
        return Path(sys.executable)


@pytest.fixture
def place(tmp_path) -> TryPlace:
    root = tmp_path / "a course"
    (root / "build").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (root / "constraints.txt").write_text("no-such-package==1.0\n", encoding="utf-8")
    return TryPlace(root)
