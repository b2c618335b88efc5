"""Each notebook that nbval runs meets a learner of its own."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

from tests.nbval_home import pytest_runtest_setup


def home_for(notebook: str) -> Path:
    pytest_runtest_setup(SimpleNamespace(path=Path(notebook)))
    return Path(os.environ["COURSE_HOME"])


def test_a_notebook_keeps_its_home_and_another_has_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "course"))
    first = home_for("notebooks/00_start_here.ipynb")
    assert home_for("notebooks/00_start_here.ipynb") == first
    second = home_for("notebooks/08_query_key_value.ipynb")
    assert second != first and second.parent == first.parent == tmp_path
