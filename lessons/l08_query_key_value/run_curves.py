"""Losses of several runs while they train, one curve for each run, on a logarithmic scale.

>>> training_curves({"÷ 1": [[1.5, 1.0], [1.4, 0.9]], "÷ d_k": [[0.9, 0.8], [0.9, 0.7]]}, title="two runs")
Picture('two runs. Loss at the end: ÷ 1: 1.0000, 0.9000; ÷ d_k: 0.8000, 0.7000.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from course_lib.views.picture import Picture
from course_lib.views.plane import Plane
from course_lib.views.run_dots import in_words
from course_lib.views.svg import dot, line, word

STYLES = ({"stroke": "accent"}, {"stroke": "ink"}, {"stroke": "soft", "dash": "5 4"})
LEAST, MOST, UNIFORM = 1e-4, 4.0, 7 / 8
GAP = 17  # pixels between two names


def training_curves(runs: Mapping[str, Sequence[Sequence[float]]], *, title: str, every: int = 5) -> Picture:
    """Up to three names, each with a few runs; the dots are where they end."""
    last = every * (len(next(iter(runs.values()))[0]) - 1)
    plane = Plane(62, 52, 400, 190, (0, last), (LEAST, MOST), log_y=True)
    out = word(14, 28, title, 15, anchor="start", bold=True)
    out += plane.scale_x({0: "0", last // 2: str(last // 2), last: str(last)}, "training step")
    out += plane.scale_y({1e-4: "0.0001", 1e-3: "0.001", 1e-2: "0.01", 0.1: "0.1", 1: "1"})
    level = plane.at(0, UNIFORM)[1]
    out += line([(plane.left, level), (plane.left + plane.width, level)], "soft", 1, dash="2 3")
    names = [(level, "7/8: uniform", "soft", 11)]
    for (name, some), style in zip(runs.items(), STYLES, strict=False):
        for losses in some:
            out += plane.curve(range(0, last + 1, every), losses, width=1.6, opacity=0.8, **style)
            out += dot(*plane.at(last, losses[-1]), 4, style["stroke"], "paper", 1)
        end = mean(max(losses[-1], LEAST) for losses in some)
        names.append((plane.at(0, end)[1], name, style["stroke"], 13))
    free = 0.0
    for height, name, fill, size in sorted(names):  # from above, without one on another
        free = max(free + GAP, height + 4)
        out += word(472, free, name, size, fill, "start", bold=size > 11)
    ends = {name: [losses[-1] for losses in some] for name, some in runs.items()}
    return Picture(600, 290, out, alt=f"{title}. Loss at the end: {in_words(ends, 4)}.")
