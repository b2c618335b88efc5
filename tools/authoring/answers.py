"""The answers to predictions and estimates: shown in the solved edition, kept as metadata of the learner's.

    "metadata": {"course": {"kind": "predict", "answer": "<div>...</div>"}}

JupyterLab doesn't show metadata, so a learner still predicts first. The reading edition shows them folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.authoring.cell_kinds import CODE
from tools.authoring.source import Cell, LessonError, cell_ids

GUESSES = ("predict", "estimate")  # kinds of cells
CALL = re.compile(r'\b(?:predict|estimate)\(\s*"(?P<lesson>\d\d)", "(?P<name>[\w-]+)"')


def answers_in(cells: list[Cell], outputs: list[list[dict]]) -> dict[str, str]:
    """The HTML of every answer in the outputs of the solved edition, by the id of its cell."""
    from course_lib.teaching.questions.guess import ANSWER  # takes a while to load

    code = [(name, cell) for name, cell in zip(cell_ids(cells), cells, strict=True) if cell.form == CODE]
    answers = {}
    for (name, cell), cell_outputs in zip(code, outputs, strict=True):
        if cell.kind in GUESSES:
            pages = [output.get("data", {}).get("text/html", "") for output in cell_outputs]
            _, mark, answer = next((page for page in pages if ANSWER in page), "").partition(ANSWER)
            if not mark:
                remedy = "its last line must be predict(...) or estimate(...)"
                raise LessonError(cell.line, f"this {cell.kind} cell shows no answer; {remedy}")
            answers[name] = mark + answer
    return answers


def add_answers(notebook: dict, answers: dict[str, str]) -> None:
    """Keep the answers in the metadata of their cells."""
    for cell in notebook["cells"]:
        if cell["id"] in answers:
            cell["metadata"]["course"]["answer"] = answers[cell["id"]]


def stored_answers(notebook: dict) -> dict[str, str]:
    """The answers that a notebook keeps, by the id of their cell."""
    courses = {cell["id"]: cell["metadata"].get("course", {}) for cell in notebook["cells"]}
    return {name: course["answer"] for name, course in courses.items() if "answer" in course}


def without_answer(metadata: dict) -> dict:
    """A cell's metadata as it comes from the source."""
    course = {name: value for name, value in metadata.get("course", {}).items() if name != "answer"}
    return {**metadata, "course": course}


def outdated_answers(cells: list[Cell], notebook: dict) -> Iterator[LessonError]:
    """Predictions and estimates without an answer, or with one whose reason has changed in quiz.json."""
    from course_lib.teaching.questions.question import questions
    from course_lib.teaching.questions.question_card import static_html

    for cell, stored in zip(cells, notebook["cells"], strict=True):
        if cell.kind not in GUESSES:
            continue
        answer, call = stored["metadata"]["course"].get("answer"), CALL.search(cell.text)
        if answer is None or call is None:
            yield LessonError(cell.line, f"the {cell.kind} cell has no answer")
            continue
        try:
            because = questions(call["lesson"])[call["name"]].because
        except (KeyError, ValueError) as error:  # a broken quiz.json, or a question that was removed
            yield LessonError(cell.line, f"`{call[0]}` fails: {error}")
            continue
        if f"<p>{static_html(because)}</p>" not in answer:
            yield LessonError(cell.line, f"the answer to {call['name']!r} is out of date")
