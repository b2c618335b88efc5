"""The class as a CSV file: one row for each learner and checkpoint.

>>> safe_cell("=1+1"), safe_cell("Ada")
("'=1+1", 'Ada')
"""

from __future__ import annotations

import csv
import io

from tools.class_view.summary import ClassSummary, checkpoints

HEADER = (
    *("learner", "name", "track", "exported", "lesson", "title", "checkpoint", "checkpoint_track"),
    *("state", "failed_checks", "works_here"),
)


def csv_table(group: ClassSummary) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
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
    """The text with an apostrophe before it if a spreadsheet would take it for a formula."""
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text
