"""What happened in which year.

>>> timeline({2014: ["sequence to sequence"], 2015: ["Bahdanau", "Luong"]}, title="Two years")
StaticImage('Two years. 2014: sequence to sequence; 2015: Bahdanau, Luong.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from course_lib import theme
from course_lib.views.static_image import StaticImage, fit


def timeline(events: Mapping[int, Sequence[str]], *, title: str = "") -> StaticImage:
    """One column per year with its events above it; the last event is highlighted."""
    if not events or not all(events.values()):
        raise ValueError(f"A timeline needs years, each with at least one event; got {dict(events)}.")
    years = sorted(events)
    axes = theme.figure().subplots()
    for x, (year, following) in enumerate(pairwise(years)):
        style = ":" if following - year > 1 else "-"  # dotted where years are left out
        axes.plot([x, x + 1], [0, 0], color=theme.HAIRLINE, linewidth=3, linestyle=style, zorder=1)
    for x, year in enumerate(years):
        last = year == years[-1]
        axes.plot(x, 0, "o", markersize=11, color=theme.ORANGE if last else theme.BLUE, zorder=2)
        axes.text(x, -0.55, str(year), ha="center", va="top", fontweight="bold", color=theme.SOFT_INK)
        for level, event in enumerate(events[year]):
            final = last and level == len(events[year]) - 1
            text = event.replace(" ", "\n", 1) if len(event) > 14 else event
            style = {"ha": "center", "va": "center", "fontsize": 8.5, "linespacing": 1.05}
            style |= {"fontweight": "bold", "color": theme.ORANGE} if final else {}
            axes.text(x, 0.7 + 0.72 * level, text, **style)
    tallest = max(len(names) for names in events.values())
    axes.set(xlim=(-0.6, len(years) - 0.4), ylim=(-1.2, 0.5 + 0.75 * tallest), title=title)
    axes.set_axis_off()
    fit(axes, width=1.3 * len(years), height=2.7)
    by_year = "; ".join(f"{year}: {', '.join(events[year])}" for year in years)
    return StaticImage(axes.figure, alt=f"{title or 'Timeline'}. {by_year}.", generic=True)
