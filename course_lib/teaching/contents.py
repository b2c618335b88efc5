"""The course's two tables: the lessons in order (data/lessons.json), and common misconceptions.

>>> lesson("query_key_value").label
'08 · Query, key, value'
>>> misconceptions()["M07"].belief
'Scores should be divided by d_k.'
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.teaching.display import Markdown


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
    def package(self) -> str:
        """What Python imports: `lessons.l08_query_key_value`."""
        return f"lessons.l{self.number}_{self.topic}"

    @property
    def folder(self) -> Path:
        """What an author edits: lesson.py, exercises.py, quiz.json, wrong_answers.py."""
        return PROJECT_ROOT / "lessons" / self.package.rpartition(".")[2]

    @property
    def exercises(self) -> dict[str, str]:
        """Its exercises, each with its track (core or stretch), as the headers of their cells say."""
        header = r'^# %% kind="exercise" exercise="(\w+)".* track="(\w+)"'
        file = self.folder / "lesson.py"
        source = file.read_text(encoding="utf-8") if file.exists() else ""
        return dict(re.findall(header, source, re.MULTILINE))


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in the order in which they are taken."""
    rows = json.loads(data_path("lessons.json").read_text(encoding="utf-8"))
    return tuple(Lesson(**row) for row in rows)


def lesson(topic: str) -> Lesson:
    """The lesson about a topic, such as "query_key_value"."""
    return {lesson.topic: lesson for lesson in lessons()}[topic]


def road_map(folder: str = "") -> Markdown:
    """The table of all lessons, with links into `folder`."""
    rows = ["| | lesson | minutes | the question |", "|---|---|---|---|"]
    for lesson in lessons():
        link = f"[{lesson.title}]({folder}{lesson.notebook})"
        rows.append(f"| {lesson.number} | {link} | {lesson.minutes} | {lesson.question} |")
    return Markdown("\n".join(rows))


@dataclass(frozen=True)
class Misconception:
    """A wrong belief, what is true instead, and the lesson that deals with it."""

    id: str
    belief: str
    truth: str
    lesson: str


@cache
def misconceptions() -> dict[str, Misconception]:
    """The misconceptions of data/misconceptions.json, by id."""
    rows = json.loads(data_path("misconceptions.json").read_text(encoding="utf-8"))
    return {row["id"]: Misconception(**row) for row in rows}
