"""A lesson as an nbgrader notebook: solutions between nbgrader's markers, points, and graded checks.

    def scale(scores, d_k):
        ### BEGIN SOLUTION
        return scores / d_k**0.5
        ### END SOLUTION

`nbgrader generate_assignment` replaces each solution by "Your turn" and saves the graded cells in its
database. Hints and notes are left out, and no output is stored, so the notebook contains no quiz answers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

import nbformat

from course_lib.models.own_file import FILE
from tools.authoring.cell_kinds import LEARNER, MARKDOWN, SOLVED, STRETCH
from tools.authoring.editions import LessonDraft, table
from tools.authoring.exercise_cells import SOLUTION
from tools.authoring.source import Cell

EDITION = "homework"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
WITHOUT_MARKERS = ("bug", "file")  # modes of exercises whose stub isn't "Your turn"
CHECK_CALL = re.compile(r"check\((.+)\)")
GRADED_CHECK = """\
from course_lib.teaching import check

graded = check({}, own_work=True)
display(graded)
### BEGIN HIDDEN TESTS
assert graded.status == "passed", graded.headline
### END HIDDEN TESTS"""
SHORT_TRACK = re.compile(r" \(\[short track\]\([^)]*\)[^)]*\)")
LINK = re.compile(
    r"\[(?P<text>(?:`[^`]*`|[^\[\]])*)\]\((?P<up>\.\./)?(?P<file>\w[\w/]*\.(?:ipynb|md|py)\b[^)\s]*)"
    r'(?P<title>\s+"(?:\\.|[^"\\])*")?\)'
)
RULES = (
    "Write your answers into the exercise cells, and run the check below each of them. Its verdict counts; "
    "you can try as often as you like. Quizzes, predictions and everything else aren't graded. This edition "
    "has no hints and no solutions.\n\n"
    "- **Your code has to be your own.** A function that calls or imports the course's version gets no "
    "points, nor does one that leaves the whole exercise to a library, such as `F.layer_norm` in an exercise "
    'about layer normalisation. Functions that you get as arguments, and `yours("…")` for earlier exercises, '
    "are fine.\n"
    "- **Before you submit,** choose *Kernel → Restart Kernel and Run All Cells*, and look at every check "
    "again: the grader runs the notebook from top to bottom in the same way.\n"
    "- **Leave the check cells as they are,** and don't rename the notebook."
)


def homework_notebook(made: LessonDraft, outputs: list[list[dict]]) -> nbformat.NotebookNode:
    """The notebook for nbgrader's `source` folder. Its prose quotes numbers that are printed in `outputs`."""
    draft = replace(made, cells=made.cells | {EDITION: homework_cells(made)})
    notebook = draft.notebook(EDITION, outputs)
    stubs = {cell.options["exercise"]: cell.text for cell in made.cells[LEARNER] if cell.kind == "exercise"}
    for cell, source in zip(notebook["cells"], draft.cells[EDITION], strict=True):
        if source.kind in ("exercise", "check"):
            name, is_check = source.options["exercise"], source.kind == "check"
            cell["metadata"]["nbgrader"] = nbgrader_metadata(name, points(source) if is_check else None)
        if source.kind == "setup":
            cell["metadata"]["deletable"] = False  # every answer needs its imports
        if source.kind == "exercise" and source.options.get("mode") in WITHOUT_MARKERS:
            cell["metadata"]["course"]["stub"] = stubs[name]
    return notebook


def nbgrader_metadata(exercise: str, points: int | None) -> dict:
    """Of a check with points, or of an exercise cell."""
    graded = points is not None
    metadata = {"grade": graded, "locked": graded, "solution": not graded, "task": False, "schema_version": 3}
    names = {"grade_id": f"check_{exercise}" if graded else exercise}
    return metadata | names | ({"points": points} if graded else {})


def points(exercise: Cell) -> int:
    """As many as the dots of its difficulty; a stretch exercise is optional, and worth none."""
    return 0 if exercise.track == STRETCH else exercise.options["difficulty"]


def homework_cells(made: LessonDraft) -> list[Cell]:
    """The solved edition without hints, with markers and graded checks."""
    exercises = {c.options["exercise"]: c for c in made.lesson.cells if c.kind == "exercise"}
    built = []
    for cell in made.cells[SOLVED]:
        if cell.kind == "hints":
            continue
        if cell.kind == "exercise" and cell.options.get("mode") not in WITHOUT_MARKERS:
            cell = replace(cell, text=with_markers(exercises[cell.options["exercise"]].text), lines=())
        elif cell.kind == "check":
            exercise = exercises[cell.options["exercise"]]
            options = exercise.options | cell.options
            cell = replace(cell, text=graded_check(cell.text), lines=(), options=options)
        elif cell.form == MARKDOWN:
            cell = replace(cell, text=with_full_links(cell.text, made.repository), lines=())
        built.append(cell)
        if cell.kind == "title":
            built[-1] = replace(cell, text=SHORT_TRACK.sub("", cell.text))
            built.append(introduction(list(exercises.values()), cell))
    return built


def with_markers(text: str) -> str:
    """A solved exercise, with nbgrader's markers instead of the lesson's."""
    for marker, replacement in zip(SOLUTION, (BEGIN, END), strict=True):
        text = re.sub(rf"^( *){marker}$", rf"\1{replacement}", text, flags=re.MULTILINE)
    return text


def graded_check(text: str) -> str:
    """A check cell that gives points only for a passed check, whatever else the notebook has changed.

    The verdict is displayed, because nbgrader takes the value of a cell for points.
    """
    return GRADED_CHECK.format(CHECK_CALL.fullmatch(text)[1])


def with_full_links(text: str, address: str) -> str:
    """Relative links lead to the repository or, if it has no address, become text, because nobody knows where
    the notebook will be; the file of lesson 14 is beside it."""

    def full(match: re.Match[str]) -> str:
        if PurePosixPath(match["file"]).name == FILE:
            return f"[{match['text']}]({FILE})"
        if not address:
            return match["text"]
        folder = "" if match["up"] else "notebooks/"
        return f"[{match['text']}]({address}/blob/main/{folder}{match['file']}{match['title'] or ''})"

    return LINK.sub(full, text)


def introduction(exercises: list[Cell], title: Cell) -> Cell:
    """What is graded, and the rules."""
    rows = [[cell.options["title"], points(cell) or "optional"] for cell in exercises]
    total = f"**Homework: {sum(map(points, exercises))} points.**"
    text = f"{total}\n\n{table(1, ['Exercise', 'Points'], rows)}\n\n{RULES}"
    return Cell("homework", MARKDOWN, title.line, text, (), {"minutes": 0, "track": title.track})
