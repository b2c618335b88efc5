"""The class as a CSV file: one row for each learner and checkpoint.

>>> safe_cell("=1+1"), safe_cell("Ada")
("'=1+1", 'Ada')
"""

from __future__ import annotations

import csv
import io
import re

from tools.class_view.summary import ClassSummary, checkpoints

HEADER = (
    *("learner", "name", "track", "exported", "lesson", "title", "checkpoint", "checkpoint_track"),
    *("state", "failed_checks", "works_here"),
)
# A sign that starts a formula (also in full width), at the start of a cell or of what another separator
# makes a cell, and after what a spreadsheet may skip: a quote, a space, a character of no width.
FORMULA = re.compile(r"(^|[,;])(?=\W*?[=+\-@\uff1d\uff0b\uff0d\uff20])")


def csv_table(group: ClassSummary) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(HEADER)
    for learner in group.learners:
        export = learner.export
        about = (export.learner, export.name, learner.track, export.exported.isoformat(timespec="seconds"))
        for checkpoint in checkpoints():
            here = "yes" if learner.position == checkpoint else "no"
            row = (
                *about,
                checkpoint.lesson.number,
                checkpoint.lesson.title,
                checkpoint.name,
                checkpoint.track,
            )
            row = (*row, learner.states[checkpoint], learner.failures[checkpoint.name], here)
            writer.writerow([safe_cell(str(value)) for value in row])
    return text.getvalue()


def safe_cell(text: str) -> str:
    """The text with an apostrophe before each part that a spreadsheet could take for a formula."""
    return FORMULA.sub(r"\1'", text)
