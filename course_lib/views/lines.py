"""Lines: how one number changes with another, a named curve each; in one picture, or in panels side by side.

    >>> lines([1, 10, 100], {"÷ 1": [1, 10, 100], "÷ d": [1, 1, 1]}, x_name="d", y_name="spread", log_x=True)
    Still('Lines: spread for d from 1 to 100. ÷ 1 goes from 1 to 100; ÷ d goes from 1 to 1.')
    >>> alone = Part("alone", [1, 10], {"RNN": [1, 0], "LSTM": [1, 1]}, y_name="right, %")
    >>> panels([alone, Part("mixed", [1, 10], {"RNN": [0.2, 0.2]}, y_name="right, %")], x_name="distance")
    Still('alone, distance from 1 to 10: RNN goes from 1 to 0; LSTM goes from 1 to 1. mixed, ...')

In one picture a curve carries its name at its right end, in its own colour: no legend to decode. Panels share
one row of names below them, and a curve of the same name has the same colour in each; one that comes first is
drawn thickest, so that curves which lie on one another are all seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
WIDTH, HEIGHT = 3.2, 3.1  # inches, of one panel with its labels
THICKEST, THINNER = 5.0, 1.1  # points; in panels each curve is so much thinner than the one before


class Part(NamedTuple):
    """One panel."""

    title: str
    x: Any
    curves: Mapping[str, Any]
    y_name: str = ""
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


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
    if not 1 <= len(curves) <= len(COLOURS):
        raise ValueError(f"A picture of lines holds 1 to {len(COLOURS)} curves; {len(curves)} were given.")
    axes, ends = theme.figure().subplots(), {}
    prepared = _prepared(axes, Part(title, x, curves, y_name, log_x, log_y), x_name)
    for (name, places, heights), colour, marker in zip(prepared, COLOURS, MARKERS, strict=False):
        marks = marker if len(places) <= 30 else ""
        axes.plot(places, heights, color=colour, marker=marks, markersize=4.5, label=name)
        ends[name] = places[-1], heights[-1]
    if len(ends) > 1:
        name_at_end(axes, ends, COLOURS)
    fit(axes, width=4.8, height=2.5)
    opening = f"{title or 'Lines'}: {y_name or 'y'} for {x_name or 'x'} {_ends(x, 3)}."
    return Still(axes.figure, alt=alt or f"{opening} {_runs(curves, 3)}.")


def panels(parts: Sequence[Part], *, x_name: str, alt: str | None = None) -> Still:
    """A still picture of up to three panels."""
    names = list(dict.fromkeys(name for part in parts for name in part.curves))
    if not 1 <= len(parts) <= 3 or not 1 <= len(names) <= len(COLOURS):
        raise ValueError(f"1 to 3 panels hold 1 to {len(COLOURS)} curves; {len(parts)}, {len(names)} came.")
    figure, handles, told = theme.figure(WIDTH * len(parts), HEIGHT), {}, []
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)
    for axes, part in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        for name, places, heights in _prepared(axes, part, x_name):
            place = names.index(name)
            width = max(THICKEST - THINNER * place, 1.5)
            look = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": width + 2}
            [handles[name]] = axes.plot(places, heights, label=name, linewidth=width, **look)
        if part.y_limits:
            axes.set_ylim(part.y_limits)
        told.append(f"{part.title}, {x_name} {_ends(part.x, 2)}: {_runs(part.curves, 2)}.")
    below = {"loc": "outside lower center", "ncols": len(names), "fontsize": 10}
    figure.legend([handles[name] for name in names], names, **below)
    return Still(figure, alt=alt or " ".join(told))


def _prepared(axes: Axes, part: Part, x_name: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The curves as numbers, for axes that have their scales, grid and names."""
    if part.log_x:
        axes.set_xscale("log")
        plain_powers(axes.xaxis)
    if part.log_y:
        axes.set_yscale("log")
        plain_powers(axes.yaxis)
    axes.grid(axis="y", linewidth=0.7)
    axes.set(xlabel=x_name, ylabel=part.y_name, title=part.title)
    places = as_numbers(part.x, ndim=1, what="x")
    for name, values in part.curves.items():
        heights = as_numbers(values, ndim=1, what=f"Curve {name!r}")
        if heights.shape != places.shape:
            sizes = f"{len(heights)} points and x has {len(places)}"
            raise ValueError(f"Curve {name!r} has {sizes}; make them equal.")
        yield name, places, heights


def _ends(values: Any, digits: int) -> str:
    return f"from {significant(values[0], digits)} to {significant(values[-1], digits)}"


def _runs(curves: Mapping[str, Any], digits: int) -> str:
    return "; ".join(f"{name} goes {_ends(values, digits)}" for name, values in curves.items())


def name_at_end(axes: Axes, ends: Mapping[str, tuple[float, float]], colours: tuple[str, ...]) -> None:
    """Write each curve's name right of its last point; names that would overlap are pushed apart."""
    axes.get_ylim()  # limits are settled when they are asked for, and the transform below needs them settled
    to_fraction = axes.transData + axes.transAxes.inverted()
    settled = spread([to_fraction.transform(end)[1] for end in ends.values()], gap=0.085)
    beside = {"xycoords": "axes fraction", "xytext": (6, 0), "textcoords": "offset points", "va": "center"}
    for name, height, colour in zip(ends, settled, colours, strict=False):
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
    return settled[np.argsort(order)].tolist()


def marked_point(axes: Axes) -> Line2D:
    """The dot on a curve that says "you are here"; `set_data` moves it."""
    [dot] = axes.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)
    return dot


def plain_powers(*axes: Axis) -> None:
    """Ticks of log axes as 0.01, 1, 100 and not as powers of ten, and none between."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
