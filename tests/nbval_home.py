"""A pytest plugin for nbval: each notebook meets a learner of its own, in the setting of its folder.

    pytest -p tests.nbval_home --nbval notebooks/

Without it the summary in lesson 00 would show what another notebook of the same run had recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SETTINGS = {
    # Sums come out differently in the last bit on another CPU. torch without vector instructions is one.
    "another_cpu": {"ATEN_CPU_CAPABILITY": "default"},
    "short": {"ATEN_CPU_CAPABILITY": "default"},
    "solved": {"COURSE_STRICT": "1", "COURSE_OPEN": "1"},
}
STARTED_IN = Path(os.environ.get("COURSE_HOME", ""))


@pytest.hookimpl(tryfirst=True)  # nbval starts a kernel in this same hook, and it inherits the variables
def pytest_runtest_setup(item: pytest.Item) -> None:
    form, lesson = item.path.parent.name, item.path.stem
    for name in (name for setting in SETTINGS.values() for name in setting):
        os.environ.pop(name, None)
    os.environ.update({"COURSE_HOME": str(STARTED_IN / form / lesson), **SETTINGS.get(form, {})})
