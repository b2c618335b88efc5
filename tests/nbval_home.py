"""A pytest plugin for nbval: each notebook meets a learner of its own, with no progress yet.

    pytest -p tests.nbval_home --nbval notebooks/

Without it the summary in lesson 00 would show what another notebook of the same run had recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.hookimpl(
    tryfirst=True
)  # nbval starts a notebook's kernel in this same hook, and it inherits the variable
def pytest_runtest_setup(item: pytest.Item) -> None:
    home = Path(os.environ["COURSE_HOME"])
    if home.name != item.path.stem:
        os.environ["COURSE_HOME"] = str(home.parent / item.path.stem)
