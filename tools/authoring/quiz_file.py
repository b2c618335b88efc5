"""A lesson's quiz.json: whether it follows the schema, and whether its sections exist.

lessons/l08_query_key_value/quiz.json: $.questions[0].options[2]: 'feedback' is a required property
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from course_lib.results import UnknownResult, fill
from course_lib.runtime import data_path
from tools.authoring.cell_kinds import SHORT
from tools.authoring.lesson import LessonSource
from tools.authoring.tracks import split_at_headings


def quiz_problems(path: Path, root: Path) -> list[str]:
    """The problems of a lesson's quiz.json, if it has one, by data/quiz.schema.json."""
    from jsonschema import Draft202012Validator  # slow to import

    if not path.exists():
        return []
    schema = json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    file = path.relative_to(root).as_posix()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        return [f"{file}: expected UTF-8 text ({error})"]
    try:
        content = fill(text)
    except UnknownResult as error:
        return [f"{file}:{line_of(text, error.offset)}: {error}"]
    if (offset := text.find("{printed:")) >= 0:
        return [f"{file}:{line_of(text, offset)}: a quiz can't quote a printed number; record it as a result"]
    try:
        errors = Draft202012Validator(schema).iter_errors(json.loads(content))
        messages = [f"{error.json_path}: {error.message}" for error in errors]
    except ValueError as error:
        messages = [f"this is not valid JSON: {error}"]
    return [f"{file}: {message}" for message in messages]


def section_problems(lesson: LessonSource, quiz: Path, root: Path) -> list[str]:
    """Questions that say to read again a section that the lesson, or its short track, doesn't have."""
    if not quiz.exists():
        return []
    sections = split_at_headings(lesson.cells)
    tracks = {re.sub(r"[*`$]", "", title): cells[0].track for title, cells in sections}
    text, problems = quiz.read_text(encoding="utf-8"), []
    for question in json.loads(text)["questions"]:
        if not (title := question.get("reread")):
            continue
        where = f"{quiz.relative_to(root).as_posix()}:{line_of(text, text.index(json.dumps(question['id'])))}"
        if title not in tracks:
            problems.append(f"{where}: the lesson has no section {title!r}, named by 'reread'")
        elif tracks[title] != SHORT and "track" not in question:
            remedy = """give the question "track": "core", or the section's heading track="short\""""
            problems.append(f"{where}: the section {title!r} isn't on the short track; {remedy}")
    return problems


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
