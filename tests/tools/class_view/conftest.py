"""Exports of invented learners."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def write_export(tmp_path):
    """A function that writes the export of a learner into the folder of the class."""

    def write(learner: str, events=(), file: str = "", /, **changes) -> Path:
        content = {
            "format": "attention-course progress",
            "version": 1,
            "learner": learner,
            "name": "",
            "course": "0.1.0",
            "track": "full",
            "exported": "2026-11-15T10:00:00+00:00",
            "events": list(events),
        }
        path = tmp_path / "class" / (file or f"progress-{learner}.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content | changes), encoding="utf-8")
        return path

    return write
