from __future__ import annotations

import pytest

from tests.authoring.made_up import MadeUpCourse


@pytest.fixture
def course(tmp_path) -> MadeUpCourse:
    return MadeUpCourse(tmp_path / "project")
