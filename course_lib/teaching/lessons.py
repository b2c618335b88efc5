"""The table of lessons, from data/lessons.json: the road of the course in order.

>>> lesson("query_key_value").label
'08 · Query, key, value'
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, data_path


@dataclass(frozen=True)
class Lesson:
    """One row: its number, the topic that names its files, and the question it answers."""

    number: str
    topic: str
    title: str
    minutes: int
    question: str

    @property
    def label(self) -> str:
        return f"{self.number} · {self.title}"

    @property
    def notebook(self) -> str:
        return f"{self.number}_{self.topic}.ipynb"

    @property
    def folder(self) -> Path:
        """What an author edits: lesson.py, exercises.py, quiz.json, wrong_answers.py."""
        return PROJECT_ROOT / "notebooks" / "source" / f"{self.number}_{self.topic}"

    @property
    def built(self) -> bool:
        """Whether the lesson is there. Its source tells: it is there before the first notebook is built."""
        return (self.folder / "lesson.py").exists()


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in the order in which they are taken."""
    rows = json.loads(data_path("lessons.json").read_text(encoding="utf-8"))
    return tuple(Lesson(**row) for row in rows)


def lesson(topic: str) -> Lesson:
    """The lesson about a topic."""
    for one in lessons():
        if one.topic == topic:
            return one
    known = ", ".join(one.topic for one in lessons())
    raise ValueError(f"No lesson is called {topic!r}. There are: {known}.")
