"""The course's two tables: the lessons (data/lessons.json) and common misconceptions (misconceptions.json).

`build` writes the first from the lessons' folders, so that nothing else has to read a lesson's source.

>>> lesson("query_key_value").label
'08 · Query, key, value'
>>> misconceptions()["M07"].belief
'Scores should be divided by d_k.'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, data_path

TRACKS = FULL, SHORT = "full", "short"  # each has a notebook of its own for every lesson


@dataclass(frozen=True)
class Lesson:
    """`topic` names the lesson's files; `question` is what it answers.

    `exercises` has the track (short, core or stretch) of each exercise, in order.
    """

    number: str
    topic: str
    title: str
    part: str
    minutes: int
    short_minutes: int
    question: str
    exercises: dict[str, str] = field(hash=False)

    @property
    def label(self) -> str:
        return f"{self.number} · {self.title}"

    @property
    def notebook(self) -> str:
        return f"{self.number}_{self.topic}.ipynb"

    def minutes_on(self, track: str) -> int:
        return self.short_minutes if track == SHORT else self.minutes

    @property
    def package(self) -> str:
        return f"lessons.l{self.number}_{self.topic}"

    @property
    def folder(self) -> Path:
        return PROJECT_ROOT.joinpath(*self.package.split("."))


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in the order of the course."""
    rows = json.loads(data_path("lessons.json").read_text(encoding="utf-8"))
    return tuple(Lesson(**row) for row in rows)


def lesson(topic: str) -> Lesson:
    return {lesson.topic: lesson for lesson in lessons()}[topic]


def hours(rows: Sequence[Lesson], track: str) -> str:
    """How long these lessons take together."""
    return f"about {round(sum(lesson.minutes_on(track) for lesson in rows) / 60)} hours"


def lesson_table(rows: Sequence[Lesson], folders: Mapping[str, str]) -> str:
    """Lessons as a Markdown table, with links to the notebooks of each track in its folder.

    The first track's notebook is linked from the title, the second's from its minutes.
    """
    first, *others = folders
    heads = ["minutes", *(f"{track} track" for track in others)]
    lines = [f"| | lesson | {' | '.join(heads)} | the question |", "|---" * (len(folders) + 3) + "|"]
    blank = "| " * len(folders)
    for previous, lesson in pairwise([None, *rows]):
        if previous is None or previous.part != lesson.part:
            lines.append(f"| | **{lesson.part}** {blank}| |")
        title = f"[{lesson.title}]({folders[first]}{lesson.notebook})"
        minutes = [str(lesson.minutes_on(first))]
        minutes += [f"[{lesson.minutes_on(track)}]({folders[track]}{lesson.notebook})" for track in others]
        lines.append(f"| {lesson.number} | {title} | {' | '.join(minutes)} | {lesson.question} |")
    totals = " | ".join(hours(rows, track) for track in folders)
    return "\n".join([*lines, f"| | all lessons | {totals} | |"])


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
