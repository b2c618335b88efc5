"""The table of lessons, from data/lessons.json: the road of the course in order.

>>> lesson("query_key_value").label
'08 · Query, key, value'
>>> print(road_map().table.splitlines()[0])
| | lesson | minutes | the question |
"""

from __future__ import annotations

import json
import re
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
    def exercises(self) -> dict[str, str]:
        """Its exercises, each with its track (core or stretch), as the headers of their cells say."""
        header = r'^# %% kind="exercise" exercise="(\w+)".* track="(\w+)"'
        source = self.folder / "lesson.py"
        return dict(
            re.findall(header, source.read_text(encoding="utf-8"), re.MULTILINE) if source.exists() else ()
        )

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


@dataclass(frozen=True)
class RoadMap:
    """A Markdown table. It renders as one in JupyterLab, on GitHub and in the README."""

    table: str

    def __repr__(self) -> str:
        return self.table

    def _repr_markdown_(self) -> str:
        return self.table


def road_map(folder: str = "") -> RoadMap:
    """The table of all lessons, with links into `folder` for those that can be opened."""
    rows = ["| | lesson | minutes | the question |", "|---|---|---|---|"]
    for one in lessons():
        link = f"[{one.title}]({folder}{one.notebook})"
        name = link if one.built else f"{one.title} *(not built yet)*"
        rows.append(f"| {one.number} | {name} | {one.minutes} | {one.question} |")
    return RoadMap("\n".join(rows))
