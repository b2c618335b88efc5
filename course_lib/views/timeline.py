"""What happened in which year.

>>> timeline({2014: ["sequence to sequence"], 2015: ["Bahdanau", "Luong"]}, title="Two years")
Still('Two years. 2014: sequence to sequence; 2015: Bahdanau, Luong.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from course_lib import theme
from course_lib.views.still import Still, fit


def timeline(events: Mapping[int, Sequence[str]], *, title: str = "", alt: str | None = None) -> Still:
    """A still picture with one column a year, its events above it; the last is where the road leads."""
    if not events or not all(events.values()):
        raise ValueError(f"A timeline needs years, each with at least one event; this came: {dict(events)}.")
    years = sorted(events)
    axes = theme.figure().subplots()
    for x, (year, following) in enumerate(pairwise(years)):
        style = ":" if following - year > 1 else "-"  # dots say that years are left out
        axes.plot([x, x + 1], [0, 0], color=theme.HAIRLINE, linewidth=3, linestyle=style, zorder=1)
    for x, year in enumerate(years):
        last = year == years[-1]
        axes.plot(x, 0, "o", markersize=11, color=theme.ORANGE if last else theme.BLUE, zorder=2)
        axes.text(x, -0.55, str(year), ha="center", va="top", fontweight="bold", color=theme.SOFT_INK)
        for level, event in enumerate(events[year]):
            final = last and level == len(events[year]) - 1
            look = {"fontweight": "bold", "color": theme.ORANGE} if final else {}
            text = event.replace(" ", "\n", 1) if len(event) > 14 else event
            place = {"ha": "center", "va": "center", "fontsize": 8.5, "linespacing": 1.05}
            axes.text(x, 0.7 + 0.72 * level, text, **place | look)
    tallest = max(len(names) for names in events.values())
    axes.set(xlim=(-0.6, len(years) - 0.4), ylim=(-1.2, 0.5 + 0.75 * tallest), title=title)
    axes.set_axis_off()
    fit(axes, width=1.3 * len(years), height=2.7)
    told = "; ".join(f"{year}: {', '.join(events[year])}" for year in years)
    return Still(axes.figure, alt=alt or f"{title or 'Timeline'}. {told}.")
