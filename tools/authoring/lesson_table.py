"""The table of lessons, from their folders: data/lessons.json, and the README's copy of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from course_lib.teaching.contents import FULL, SHORT, Lesson, lesson_table
from tools.authoring.lesson import LessonSource

TABLE, README = "data/lessons.json", "README.md"
IN_README = re.compile(r"(?<=<!-- made by build -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)


def rounded(minutes: float) -> int:
    """To five minutes, which is more than anyone can predict."""
    return max(5, 5 * round(minutes / 5))


def table_of(sources: Sequence[LessonSource]) -> list[Lesson]:
    """The row of each lesson. It belongs to the part of the lesson before, unless it begins one."""
    rows: list[Lesson] = []
    for source in sources:
        part = source.part or (rows[-1].part if rows else "")
        minutes = rounded(source.minutes), rounded(source.short_minutes)
        about = source.number, source.topic, source.title, part, *minutes, source.question, source.exercises
        rows.append(Lesson(*about))
    return rows


def table_text(rows: Sequence[Lesson]) -> str:
    """The text of data/lessons.json."""
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1) + "\n"


def readme_with_table(readme: str, rows: Sequence[Lesson]) -> str:
    """The README with the table of lessons in its place."""
    table = lesson_table(rows, {FULL: "notebooks/", SHORT: "notebooks/short/"})
    return IN_README.sub(lambda _: table, readme)
