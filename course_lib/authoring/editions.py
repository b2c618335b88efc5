"""From a lesson to the cells of its three editions: the learner's, the solved and the instructor's.

    >>> draft, problems = assemble(lesson)
    >>> draft.notebook("learner")["metadata"]["course"]["title"]     # plain dicts and lists, as in an .ipynb
    'Query, key, value'

Everything in a notebook follows from the source alone: two builds of one source are the same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace

import nbformat

from course_lib.authoring.agenda import agenda
from course_lib.authoring.exercise import ON_A_CARD, Exercise, gather
from course_lib.authoring.glossary import with_terms_shown
from course_lib.authoring.kinds import CODE, MARKDOWN
from course_lib.authoring.source import Cell, Lesson, LessonError

EDITIONS = ("learner", "solved", "instructor")
FACTS = {"card": ("exercise", *ON_A_CARD), "exercise": ("exercise", "mode")}


@dataclass(frozen=True)
class Draft:
    """A lesson, its exercises and the cells of each of its editions: all that is known before it runs."""

    lesson: Lesson
    exercises: list[Exercise]
    cells: dict[str, list[Cell]]

    def notebook(self, edition: str) -> dict:
        """The notebook as nbformat 4.5 wants it, before it is executed."""
        lesson = self.lesson
        return {
            "cells": as_cells(self.cells[edition]),
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


def assemble(lesson: Lesson) -> tuple[Draft, list[LessonError]]:
    """The lesson's editions, and every problem of its exercises."""
    steps, problems = gather(lesson.cells)
    exercises = [step for step in steps if isinstance(step, Exercise)]
    cells = {}
    for edition in EDITIONS:
        built: list[Cell] = []
        for step in steps:
            if isinstance(step, Exercise):
                built += step.cells(solved=edition != "learner")
            elif step.kind != "instructor" or edition == "instructor":
                built.append(step)
        cells[edition] = [replace(cell, text=shown(cell, lesson)) for cell in built]
    sheet = agenda(lesson.title, cells["instructor"], exercises)
    cells["instructor"].insert(0, Cell("agenda", MARKDOWN, 1, sheet, (), {"minutes": 0}))
    return Draft(lesson, exercises, cells), problems


def shown(cell: Cell, lesson: Lesson) -> str:
    """The cell's text as it is read: terms in bold, and for `{minutes}` of the title the sum of all cells."""
    if cell.kind == "title":  # to the nearest five; a sum does not go stale
        return with_terms_shown(cell.text).replace("{minutes}", f"{max(5, 5 * round(lesson.minutes / 5))}")
    return with_terms_shown(cell.text) if cell.form == MARKDOWN else cell.text


def as_cells(cells: list[Cell]) -> list[dict]:
    """Notebook cells. Ids are made from what a cell says: a cell put in elsewhere does not change them."""
    met: Counter[str] = Counter()
    built = []
    for cell in cells:
        content = f"{cell.form}\n{cell.text}"
        met[content] += 1
        identity = hashlib.sha256(f"{met[content]}\n{content}".encode()).hexdigest()[:12]
        known = FACTS.get(cell.kind, ("exercise",))
        facts = {name: cell.options[name] for name in known if name in cell.options}
        course = {"kind": cell.kind, "minutes": cell.minutes, "track": cell.track} | facts
        tags = [cell.kind, *(tag.strip() for tag in cell.options.get("tags", "").split(",") if tag.strip())]
        tags += ["nbval-ignore-output"] if cell.options.get("ignore_output") else []
        metadata = {"course": course, "tags": tags}
        if cell.options.get("hide_input"):
            metadata["jupyter"] = {"source_hidden": True}
        built.append({"cell_type": cell.form, "id": identity, "metadata": metadata, "source": cell.text})
        if cell.form == CODE:
            built[-1] |= {"execution_count": None, "outputs": []}
    return built


def as_text(notebook: dict) -> str:
    """The notebook as it is stored: sorted, long texts cut into lines so that diffs read well."""
    return nbformat.writes(nbformat.from_dict(notebook)) + "\n"


def from_text(text: str) -> dict:
    """A stored notebook with its texts in one piece again."""
    return nbformat.reads(text, as_version=4)
