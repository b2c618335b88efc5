"""The course's two tables: the lessons (data/lessons.json) and common misconceptions (misconceptions.json).

>>> lesson("query_key_value").label
'08 · Query, key, value'
>>> misconceptions()["M07"].belief
'Scores should be divided by d_k.'
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.teaching.display import Markdown


@dataclass(frozen=True)
class Lesson:
    """`topic` names the lesson's files; `question` is what it answers."""

    number: str
    topic: str
    title: str
    part: str
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
        return f"lessons.l{self.number}_{self.topic}"

    @property
    def folder(self) -> Path:
        return PROJECT_ROOT.joinpath(*self.package.split("."))

    @property
    def exercises(self) -> dict[str, str]:
        """The track (core or stretch) of each exercise, from the headers of the cells."""
        header = r'^# %% kind="exercise" exercise="(\w+)".* track="(\w+)"'
        file = self.folder / "lesson.py"
        source = file.read_text(encoding="utf-8") if file.exists() else ""
        return dict(re.findall(header, source, re.MULTILINE))


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in the order of the course."""
    rows = json.loads(data_path("lessons.json").read_text(encoding="utf-8"))
    return tuple(Lesson(**row) for row in rows)


def lesson(topic: str) -> Lesson:
    return {lesson.topic: lesson for lesson in lessons()}[topic]


def road_map() -> Markdown:
    """The table of all lessons."""
    return Markdown(lesson_table(lessons()))


def lesson_table(rows: Sequence[Lesson], folder: str = "") -> str:
    """Lessons as a Markdown table, with links into `folder`."""
    lines = ["| | lesson | minutes | the question |", "|---|---|---|---|"]
    for previous, lesson in pairwise([None, *rows]):
        if previous is None or previous.part != lesson.part:
            lines.append(f"| | **{lesson.part}** | | |")
        link = f"[{lesson.title}]({folder}{lesson.notebook})"
        lines.append(f"| {lesson.number} | {link} | {lesson.minutes} | {lesson.question} |")
    hours = round(sum(lesson.minutes for lesson in rows) / 60)
    return "\n".join([*lines, f"| | all lessons | about {hours} hours | |"])


@dataclass(frozen=True)
class Misconception:
    id: str
    belief: str
    truth: str
    lesson: str


@cache
def misconceptions() -> dict[str, Misconception]:
    """By id."""
    rows = json.loads(data_path("misconceptions.json").read_text(encoding="utf-8"))
    return {row["id"]: Misconception(**row) for row in rows}
