"""The lessons as they are built from their sources, each read once in a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.build import draft
from tools.authoring.editions import LessonDraft


@cache
def drafted(source: Path) -> LessonDraft:
    """The draft of one lesson of the course; no test may change it."""
    return draft(source, PROJECT_ROOT)
