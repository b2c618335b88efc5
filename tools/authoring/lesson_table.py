"""The table of lessons with minutes from their sources: data/lessons.json, and the README's copy of it."""

from __future__ import annotations

import json
import re

from course_lib.teaching.contents import FULL, SHORT, Lesson, lesson_table
from tools.authoring.lesson import LessonSource

TABLE, README = "data/lessons.json", "README.md"
IN_README = re.compile(r"(?<=<!-- made by build -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)


def rounded(minutes: float) -> int:
    """To five minutes, which is more than anyone can predict."""
    return max(5, 5 * round(minutes / 5))


def table_with_minutes(text: str, lessons: list[LessonSource]) -> str:
    """The text of data/lessons.json with today's minutes and questions, two lines for each lesson."""
    sources = {lesson.number: lesson for lesson in lessons}
    rows = []
    for row in json.loads(text):
        source, question = sources.get(row["number"]), row.pop("question")
        if source is not None:
            row |= {"minutes": rounded(source.minutes), "short_minutes": rounded(source.short_minutes)}
            question = source.question
        question = json.dumps(question, ensure_ascii=False)
        rows.append(f'  {json.dumps(row, ensure_ascii=False)[:-1]},\n   "question": {question}}}')
    return "[\n" + ",\n".join(rows) + "\n]\n"


def readme_with_table(readme: str, table: str) -> str:
    """The README with the table of lessons in its place."""
    rows = [Lesson(**row) for row in json.loads(table)]
    return IN_README.sub(
        lambda _: lesson_table(rows, {FULL: "notebooks/", SHORT: "notebooks/short/"}), readme
    )
