from __future__ import annotations

import pytest

from tests.tools.authoring.made_up import MadeUpCourse


@pytest.fixture
def course(tmp_path) -> MadeUpCourse:
    return MadeUpCourse(tmp_path / "project")
