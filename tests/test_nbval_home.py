"""Each notebook that nbval runs meets a learner of its own, in the setting of its folder."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

from course_lib.authoring.execute import kernel_environment
from tests import nbval_home


def environment_of(notebook: str) -> dict[str, str]:
    nbval_home.pytest_runtest_setup(SimpleNamespace(path=Path(notebook)))
    return dict(os.environ)


def test_a_notebook_keeps_its_home_and_has_the_setting_of_its_form(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", kernel_environment("learner", tmp_path))
    monkeypatch.setattr(nbval_home, "STARTED_IN", tmp_path)
    names = ("notebooks/00.ipynb", "x/another_cpu/00.ipynb", "x/solved/00.ipynb", "x/solved/08.ipynb")
    found = [environment_of(name) for name in (*names, names[0])]
    homes = [one["COURSE_HOME"] for one in found]
    assert len(set(homes)) == 4 and homes[0] == homes[-1] and all(str(tmp_path) in home for home in homes)
    assert [one.get("ATEN_CPU_CAPABILITY") for one in found] == [None, "default", None, None, None]
    assert [one.get("COURSE_STRICT") for one in found] == [None, None, "1", "1", None]
    solved = kernel_environment("solved", tmp_path).items() - kernel_environment("learner", tmp_path).items()
    assert dict(solved) == nbval_home.SETTINGS["solved"]
