"""The points that a rule costs each system, with a dot for each run.

loss_figure(trial.tables(), title="Points lost with the rule mirror")
"""

from __future__ import annotations

from collections.abc import Mapping

from course_lib import theme
from course_lib.views.run_dots import in_words, run_dots
from course_lib.views.static_image import StaticImage
from lessons.l19_your_own_claim.scores import SeedTable, points_lost

COLOURS = (theme.BLUE, theme.ORANGE)


def loss_figure(tables: Mapping[str, SeedTable], *, title: str) -> StaticImage:
    """The points lost by every run of both systems, on each split; a system has the same colour on all."""
    rows, colours = {}, []
    for split, systems in tables["with"].items():
        for system, colour in zip(systems, COLOURS, strict=False):
            rows[f"{system} on {split}"] = points_lost(tables, split, system)
            colours.append(colour)
    return StaticImage(run_dots(rows, title=title, colours=colours, zero=True), f"{title}: {in_words(rows)}.")
