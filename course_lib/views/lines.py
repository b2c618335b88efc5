"""Lines: how one number changes with another, a named curve each.

    >>> lines([1, 10, 100], {"÷ 1": [1, 10, 100], "÷ d": [1, 1, 1]}, x_name="d", y_name="spread", log_x=True)

A curve carries its name at its right end, in its own colour: no legend to decode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from course_lib import theme
from course_lib.formatting import significant
from course_lib.views.still import Still, as_numbers, fit

COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PINK, theme.YELLOW, theme.SKY)
MARKERS = "osD^vP"  # the shape tells the curves apart where colour cannot


def lines(
    x: Any,
    curves: Mapping[str, Any],
    *,
    title: str = "",
    x_name: str = "",
    y_name: str = "",
    log_x: bool = False,
    log_y: bool = False,
    alt: str | None = None,
) -> Still:
    """A still picture of up to six curves over the same x."""
    places = as_numbers(x, ndim=1, what="x")
    if not 1 <= len(curves) <= len(COLOURS):
        raise ValueError(f"A picture of lines holds 1 to {len(COLOURS)} curves; {len(curves)} were given.")
    heights = {name: as_numbers(values, ndim=1, what=f"Curve {name!r}") for name, values in curves.items()}
    for name, values in heights.items():
        if values.shape != places.shape:
            raise ValueError(
                f"Curve {name!r} has {len(values)} points and x has {len(places)}; make them equal."
            )
    axes = theme.figure().subplots()
    if log_x:
        axes.set_xscale("log")
        plain_powers(axes.xaxis)
    if log_y:
        axes.set_yscale("log")
        plain_powers(axes.yaxis)
    for (name, values), colour, marker in zip(heights.items(), COLOURS, MARKERS, strict=False):
        marks = marker if len(places) <= 30 else ""
        axes.plot(places, values, color=colour, marker=marks, markersize=4.5, label=name)
    axes.grid(axis="y", color=theme.HAIRLINE, linewidth=0.7)
    axes.set(xlabel=x_name, ylabel=y_name)
    axes.set_title(title)
    if len(heights) > 1:
        name_at_end(axes, {name: (places[-1], values[-1]) for name, values in heights.items()}, COLOURS)
    fit(axes, width=4.8, height=2.5)
    return Still(axes.figure, alt=alt or _describe(places, heights, title, x_name, y_name))


def marked_point(axes: Axes) -> Line2D:
    """The dot on a curve that says "you are here"; `set_data` moves it."""
    [dot] = axes.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)
    return dot


def plain_powers(*axes: Axis) -> None:
    """Ticks of log axes as 0.01, 1, 100 and not as powers of ten, and none between."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def name_at_end(axes: Axes, ends: Mapping[str, tuple[float, float]], colours: tuple[str, ...]) -> None:
    """Write each curve's name right of its last point; names that would overlap are pushed apart."""
    axes.get_ylim()  # limits are settled when they are asked for, and the transform below needs them settled
    to_fraction = axes.transData + axes.transAxes.inverted()
    wanted = [to_fraction.transform(end)[1] for end in ends.values()]
    settled = spread(wanted, gap=0.085)
    for name, height, colour in zip(ends, settled, colours, strict=False):
        beside = {
            "xycoords": "axes fraction",
            "xytext": (6, 0),
            "textcoords": "offset points",
            "va": "center",
        }
        axes.annotate(name, (1.0, height), **beside, color=colour, fontweight="bold", annotation_clip=False)


def spread(heights: list[float], *, gap: float) -> list[float]:
    """The same heights, moved as little as needed so that neighbours are at least `gap` apart.

    >>> spread([0.5, 0.5], gap=0.1)
    [0.45, 0.55]
    """
    order = np.argsort(heights, kind="stable")
    settled = np.array(heights, dtype=float)[order]
    for _ in range(200):  # a few sweeps settle a handful of names
        push = gap - np.diff(settled)
        if (push <= 1e-9).all():
            break
        push = np.clip(push, 0, None) / 2
        settled[:-1] -= push
        settled[1:] += push
    result = np.empty_like(settled)
    result[order] = settled
    return result.tolist()


def _describe(x: np.ndarray, curves: dict[str, np.ndarray], title: str, x_name: str, y_name: str) -> str:
    def ends(values: np.ndarray) -> str:
        return f"from {significant(values[0])} to {significant(values[-1])}"

    runs = "; ".join(f"{name} goes {ends(y)}" for name, y in curves.items())
    return f"{title or 'Lines'}: {y_name or 'y'} for {x_name or 'x'} {ends(x)}. {runs}."
