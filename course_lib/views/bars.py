"""Bars: a handful of numbers that are to be compared, most often attention weights.

>>> bars([0.7, 0.2, 0.1], labels=["cat", "water", "drank"], title="Where “it” looks")
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib import theme
from course_lib.views.parts import Bars
from course_lib.views.still import Still, as_labels, as_numbers, fit


def bars(
    values: Any,
    *,
    labels: Any,
    title: str = "",
    name: str = "weight",
    high: float | None = None,
    colour: str = theme.BLUE,
    digits: int = 2,
    alt: str | None = None,
) -> Still:
    """A still picture of one row of numbers. `name` says what a bar's height is."""
    heights = as_numbers(values, ndim=1, what="The bars' values")
    texts = as_labels(labels, count=len(heights), what="Labels of the bars")
    if not np.isfinite(heights).all():
        raise ValueError(
            f"A bar needs a finite height, and these are {heights.tolist()}. Bars for weights, not for −inf."
        )
    axes = theme.figure().subplots()
    top = high if high is not None else (1.0 if name == "weight" else max(heights.max(), 0.0) or 1.0)
    panel = Bars(axes, texts, low=min(heights.min(), 0.0), high=top, colour=colour, digits=digits)
    panel.show(heights)
    axes.set_ylabel(name)
    axes.set_title(title)
    fit(axes, width=max(3.0, sum(max(0.62, 0.1 * len(text) + 0.15) for text in texts)), height=2.1)
    readings = ", ".join(f"{text} {value:.{digits}f}" for text, value in zip(texts, heights, strict=True))
    return Still(axes.figure, alt=alt or f"{title or 'Bars'}: {name} of {readings}.")
