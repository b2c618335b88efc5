"""What nbgrader does differently for this course, by nbgrader_config.py in a course folder.

warn_about_files     in `autograde`: a renamed notebook, or a file that wasn't submitted, is named
LearnersStub         in `generate_assignment`: exercises whose stub is more than "Your turn" get it back
ReadableSubmission   in `autograde`: an unreadable or oversized submission is refused with a clear message
RestoreChecks        in `autograde`: checks that a student changed or deleted are restored, and named
FeedbackByExercise   in `generate_feedback`: the list of points names the exercises

nbgrader doesn't grade a submission that is refused; the others of the same run are graded.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbgrader import utils
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells
from traitlets.log import get_logger

LARGEST = 20  # MB of a whole submission; a lesson with all its figures has less than 1


def warn_about_files(assignment: str, student: str, notebooks: list[str]) -> None:
    """nbgrader itself skips a renamed notebook, and then asks whether the assignment was generated."""
    folder = Path(notebooks[0]).resolve().parent  # COURSE/submitted/STUDENT/ASSIGNMENT
    present = sorted(path.name for path in folder.iterdir())
    for path in sorted((folder.parents[2] / "source" / assignment).iterdir()):
        if path.is_file() and path.name not in present:
            get_logger().warning(
                "%s didn't submit %s, only %s. Is it a file with another name?",
                folder.parent.name,
                path.name,
                ", ".join(present),
            )


class LearnersStub(NbGraderPreprocessor):
    """After nbgrader has removed the solutions: give an exercise cell the stub from its metadata, such as a
    function with a bug to find."""

    def preprocess_cell(self, cell: nbformat.NotebookNode, resources: dict, index: int) -> tuple:
        cell.source = cell.metadata.get("course", {}).pop("stub", cell.source)
        return cell, resources


class ReadableSubmission(NotebookExporter):
    """Reads a submitted notebook, or says in one sentence why it can't be graded."""

    def from_filename(self, filename: str, resources: dict | None = None, **options: Any) -> tuple:
        path = Path(filename)
        if "COURSE_HOME" in os.environ:
            raise NbGraderException(
                "Expected that COURSE_HOME isn't set, so that each submission gets a new folder, but it is "
                f"{os.environ['COURSE_HOME']!r}. Unset it, and grade again."
            )
        size = sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file()) / 1e6
        if size > LARGEST:
            raise NbGraderException(
                f"Expected a submission of at most {LARGEST} MB, but {path.parent} has {size:.0f} MB. Ask "
                "the student for the notebook alone, with its outputs cleared, or remove the large files."
            )
        if problem := find_problem(path):
            raise NbGraderException(f"{path} can't be graded: {problem} Ask the student to submit it again.")
        return super().from_filename(filename, resources=resources, **options)


def find_problem(path: Path) -> str:
    """Why a file isn't a notebook that can be run; else ""."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        nbformat.validate(nbformat.from_dict(content))
    except UnicodeDecodeError:
        return "Expected a notebook, but it isn't text in UTF-8."
    except json.JSONDecodeError as error:
        return f"Expected a notebook, but it isn't valid JSON (line {error.lineno}). It may be incomplete."
    except (nbformat.ValidationError, AttributeError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0][:200]
        return f"Expected a notebook in the current format, but {reason}."
    return ""


class RestoreChecks(OverwriteCells):
    """Restore changed checks; add deleted ones at the end of the notebook, where every function is defined.

    nbgrader's own version reports every check as changed, because it compares the student's cell, without the
    hidden test, with the one that has it. It adds a deleted check after the exercise, and fails if that was
    deleted too.
    """

    def preprocess(self, notebook: nbformat.NotebookNode, resources: dict) -> tuple:
        self.add_missing_cells = True
        self.student = resources["nbgrader"]["student"]
        return super().preprocess(notebook, resources)

    def preprocess_cell(self, cell: nbformat.NotebookNode, resources: dict, index: int) -> tuple:
        stored = cell.metadata.get("nbgrader", {})  # as released, without the hidden test
        self.is_as_released = "grade_id" in stored and stored.get("checksum") == utils.compute_checksum(cell)
        return super().preprocess_cell(cell, resources, index)

    def report_change(self, name: str, attribute: str, original: Any, submitted: Any) -> None:
        if attribute == "checksum" and self.is_as_released:
            return
        self.log.warning(
            "%s changed the cell '%s' of %s (its %s); the original was restored.",
            self.student,
            name,
            self.notebook_id,
            "source" if attribute == "checksum" else attribute,
        )

    def add_missing_grade_cells(self, notebook: nbformat.NotebookNode, resources: dict) -> tuple:
        stored = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in stored.grade_cells}
        present = {cell.metadata.nbgrader["grade_id"] for cell in notebook.cells if utils.is_grade(cell)}
        missing = [cell for cell in stored.source_cells if cell.name in points and cell.name not in present]
        for cell in missing:
            self.log.warning(
                "%s deleted the cell '%s' of %s; it was added again at the end.",
                self.student,
                cell.name,
                self.notebook_id,
            )
            notebook.cells.append(self.missing_cell_transform(cell, points[cell.name]))
        return notebook, resources


class FeedbackByExercise(HTMLExporter):
    """nbgrader calls every check "Test cell" in the list of points."""

    def from_notebook_node(self, notebook: nbformat.NotebookNode, *options: Any, **more: Any) -> tuple:
        page, resources = super().from_notebook_node(notebook, *options, **more)
        return re.sub(r'(<a href="#check_(\w+)">)Test cell', r"\1\2", page), resources
