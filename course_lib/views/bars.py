"""Bar charts: a few numbers to compare, most often attention weights.

>>> bars([0.7, 0.2, 0.1], labels=["cat", "water", "drank"], title="Attention of “it”")
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.formatting import minus
from course_lib.views.picture import Picture
from course_lib.views.static_image import to_array, to_labels
from course_lib.views.svg import belongs, box, group, line, number, width_of, word

TALL, MARGIN = 170, 16  # pixels


def bars(
    values: Any,
    *,
    labels: Any,
    title: str = "",
    name: str = "attention weight",
    high: float | None = None,
    digits: int = 2,
    alt: str | None = None,
) -> Picture:
    """A bar chart of one row of numbers. `name` says what the height of a bar means."""
    heights = to_array(values, ndim=1, name="The bars' values")
    texts = to_labels(labels, count=len(heights), name="Labels of the bars")
    if not np.isfinite(heights).all():
        raise ValueError(f"Bars need finite heights, such as attention weights; got {heights.tolist()}.")
    if high is None:
        high = 1.0 if name == "attention weight" else max(heights.max(), 0.0) or 1.0
    low = min(heights.min(), 0.0)
    top, left = (44 if title else MARGIN) + 16, MARGIN + 22
    unit = TALL / (max(high, heights.max()) - low or 1.0)
    zero, step = top + TALL + low * unit, max(54.0, *(width_of(text, 12) + 12 for text in texts))
    width = max(left + step * len(texts) + MARGIN, width_of(title, 16) + 2 * MARGIN)
    bottom = top + TALL + (22 if low < 0 else 0)
    parts = [
        word(MARGIN, 26, title, 15, anchor="start", bold=True),
        word(
            MARGIN,
            top + TALL / 2,
            name,
            12,
            "soft",
            transform=f"rotate(-90 {MARGIN} {number(top + TALL / 2)})",
        ),
        line([(left, zero), (left + step * len(texts), zero)], "calm"),
    ]
    for i, (text, value) in enumerate(zip(texts, heights, strict=True)):
        x, tall = left + step * (i + 0.5), abs(value) * unit
        shown = minus(f"{value:.{digits}f}")
        bar = box(x - 0.36 * step, zero - max(value, 0) * unit, 0.72 * step, tall, "query", radius=2)
        bar += word(x, zero + (tall + 16 if value < 0 else -tall - 6), shown, 12)
        parts.append(group(bar, class_="bar", **belongs(f"bar-{i}", tip=f"{text}: {shown}")))
        parts.append(word(x, bottom + 18, text, 12))
    readings = ", ".join(f"{text} {value:.{digits}f}" for text, value in zip(texts, heights, strict=True))
    return Picture(width, bottom + 30, *parts, alt=alt or f"{title or 'Bars'}: {name} of {readings}.")
