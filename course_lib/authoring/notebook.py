"""Put a lesson's notebooks together, unexecuted: the learner's, the solved and the instructor's.

    >>> cells = assemble(lesson, steps, "learner")
    >>> notebook = as_notebook(lesson, cells, "learner")     # plain dicts and lists, as in an .ipynb

Everything in it follows from the source alone: two builds of one source are the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace

from course_lib.authoring.agenda import agenda
from course_lib.authoring.built import BuiltCell, plain
from course_lib.authoring.card import card
from course_lib.authoring.cells import CODE, MARKDOWN
from course_lib.authoring.exercise import Exercise, Step
from course_lib.authoring.hints import hints_text
from course_lib.authoring.source import Lesson

EDITIONS = ("learner", "solved", "instructor")


def assemble(lesson: Lesson, steps: list[Step], edition: str) -> list[BuiltCell]:
    """The cells of one edition, in order."""
    cells: list[BuiltCell] = []
    for step in steps:
        if isinstance(step, Exercise):
            cells += exercise_cells(step, solved=edition != "learner")
        elif step.kind != "instructor" or edition == "instructor":
            cells.append(plain(step))
    cells = [with_minutes(cell, lesson.minutes) if cell.kind == "title" else cell for cell in cells]
    if edition == "instructor":
        exercises = [step for step in steps if isinstance(step, Exercise)]
        text = agenda(lesson.title, cells, exercises)
        cells.insert(0, BuiltCell("agenda", MARKDOWN, text, line=1, tags=("agenda",)))
    return cells


def with_minutes(title: BuiltCell, minutes: float) -> BuiltCell:
    """The title cell may say `{minutes}`: the sum over all cells, to the next five, which never drifts."""
    return replace(title, text=title.text.replace("{minutes}", f"{max(5, 5 * round(minutes / 5))}"))


def exercise_cells(exercise: Exercise, solved: bool) -> list[BuiltCell]:
    """Card, stub, check and folded hints. Solved, the solution stands in the cell and not under it."""
    code = exercise.stub.solved if solved else exercise.stub.unsolved
    facts = {"title": exercise.title, "difficulty": exercise.difficulty, "importance": exercise.importance}
    header = BuiltCell("card", MARKDOWN, card(exercise), exercise.code.line, tags=("card",), facts=facts)
    if exercise.task:
        header = replace(header, minutes=exercise.task.minutes)
    stub = replace(plain(exercise.code), text=code.text, lines=code.lines)
    hints = replace(
        plain(exercise.hints_cell),
        text=hints_text(exercise.hints, None if solved else exercise.stub.solved.text),
    )
    cells = [header, stub, plain(exercise.check), hints]
    return [replace(cell, exercise=exercise.name, track=exercise.track) for cell in cells]


def as_notebook(lesson: Lesson, cells: list[BuiltCell], edition: str) -> dict:
    """The notebook as nbformat 4.5 wants it, before it is executed."""
    return {
        "cells": [as_cell(cell, identity) for cell, identity in zip(cells, identities(cells), strict=True)],
        "metadata": {
            "course": {
                "edition": edition,
                "minutes": lesson.minutes,
                "number": lesson.number,
                "source_sha256": lesson.sha256,
                "title": lesson.title,
                "topic": lesson.topic,
            },
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            # No version: the same notebook comes out of every Python we support.
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def as_cell(cell: BuiltCell, identity: str) -> dict:
    course = {"kind": cell.kind, "minutes": cell.minutes, "track": cell.track, **cell.facts}
    if cell.exercise:
        course["exercise"] = cell.exercise
    metadata: dict = {"course": course, "tags": list(cell.tags)}
    if cell.hide_input:
        metadata["jupyter"] = {"source_hidden": True}
    built = {"cell_type": cell.form, "id": identity, "metadata": metadata, "source": cell.text}
    return built | {"execution_count": None, "outputs": []} if cell.form == CODE else built


def identities(cells: list[BuiltCell]) -> list[str]:
    """Ids made from what a cell says: a cell put in elsewhere does not change them."""
    met: Counter[str] = Counter()
    names = []
    for cell in cells:
        content = f"{cell.form}\n{cell.text}"
        met[content] += 1
        names.append(hashlib.sha256(f"{met[content]}\n{content}".encode()).hexdigest()[:12])
    return names


def as_text(notebook: dict) -> str:
    """The notebook as it is stored: sorted, long texts cut into lines so that diffs read well."""
    stored = json.loads(json.dumps(notebook))
    for cell in stored["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = output["text"].splitlines(keepends=True)
            for mime, content in output.get("data", {}).items():
                if isinstance(content, str) and mime.startswith("text/"):
                    output["data"][mime] = content.splitlines(keepends=True)
    return json.dumps(stored, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def from_text(text: str) -> dict:
    """A stored notebook with its texts in one piece again."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = "".join(output["text"])
            for mime, content in output.get("data", {}).items():
                if isinstance(content, list) and "json" not in mime:
                    output["data"][mime] = "".join(content)
    return notebook
