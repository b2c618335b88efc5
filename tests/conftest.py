"""Every test works in a home of its own: nobody's real progress is read or written."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def course_home(tmp_path, monkeypatch):
    home = tmp_path / "course-home"
    monkeypatch.setenv("COURSE_HOME", str(home))
    for switch in ("COURSE_OPEN", "COURSE_STRICT", "COURSE_CLASSROOM", "COURSE_DEVICE"):
        monkeypatch.delenv(switch, raising=False)
    return home


@pytest.fixture(autouse=True)
def torch_prints_as_ever():
    """A lesson that is started in a test sets how tensors print; the next test must not see it."""
    yield
    torch.set_printoptions(profile="default")
