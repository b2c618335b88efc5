"""The points that a rule costs each system, with a dot for each run.

loss_figure(trial.tables(), title="Points lost with the rule mirror")
"""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.views.picture import Picture
from course_lib.views.run_dots import run_dots
from lessons.l19_your_own_claim.scores import SeedTable, points_lost

FILLS = ("query", "key")


def loss_figure(tables: Mapping[str, SeedTable], *, title: str) -> Picture:
    """The points lost by every run of both systems, on each split; a system has the same colour on all."""
    rows, fills = {}, {}
    for split, systems in tables["with"].items():
        for system, fill in zip(systems, FILLS, strict=False):
            rows[f"{system} on {split}"] = points_lost(tables, split, system)
            fills[f"{system} on {split}"] = fill
    return run_dots(rows, title=title, fills=fills, zero=True)
