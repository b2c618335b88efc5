"""The points that a rule costs each system, with a mark for each seed.

loss_figure(trial.tables(), title="Points lost with the rule mirror")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

import numpy as np

from course_lib import theme
from course_lib.formatting import fixed
from course_lib.views.static_image import StaticImage, fit
from lessons.l19_your_own_claim.scores import SeedTable, points_lost

COLOURS, MARKERS = (theme.BLUE, theme.ORANGE), "os"
APART, SPREAD = 0.2, 0.06  # of the two systems, and of the seeds of each; the distance of two splits is 1


def loss_figure(
    tables: Mapping[str, SeedTable], *, title: str, splits: Sequence[str] | None = None
) -> StaticImage:
    """For each split, the points lost by every seed of both systems; a line marks the mean."""
    axes, sentences = theme.figure().subplots(), []
    splits = [split for split in splits or tables["with"] if split in tables["with"]]
    for number, system in enumerate(tables["with"][splits[0]]):
        colour, marker = COLOURS[number], MARKERS[number]
        for column, split in enumerate(splits):
            points = points_lost(tables, split, system)
            centre = column + (2 * number - 1) * APART
            xs = centre + SPREAD * (np.arange(len(points)) - (len(points) - 1) / 2)
            label = system if column == 0 else None
            axes.plot(xs, points, marker, color=colour, markersize=5.5, label=label)
            axes.hlines(mean(points), centre - 0.15, centre + 0.15, color=colour, linewidth=1.4)
            sentences.append(f"{system} on {split}: {', '.join(fixed(x, 1) for x in points)}")
    axes.axhline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    axes.set_xticks(range(len(splits)), splits)
    axes.set_xlim(-0.5, len(splits) - 0.5)
    axes.set(ylabel="points lost", title=title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    fit(axes, width=max(2.6, 1.3 * len(splits)), height=2.4)
    return StaticImage(axes.figure, alt=f"{title}, by seed. {'; '.join(sentences)}.")
