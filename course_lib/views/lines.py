"""Line charts: how one number changes with another, in one chart or in panels side by side.

    >>> lines([1, 10, 100], {"÷ 1": [1, 10, 100], "÷ d": [1, 1, 1]}, x_name="d", y_name="std", log_x=True)
    StaticImage('Lines: std for d from 1 to 100. ÷ 1 goes from 1 to 100; ÷ d goes from 1 to 1.')
    >>> alone = Part("alone", [1, 10], {"RNN": [1, 0], "LSTM": [1, 1]}, y_name="correct, %")
    >>> panels([alone, Part("mixed", [1, 10], {"RNN": [0.2, 0.2]}, y_name="correct, %")], x_name="distance")
    StaticImage('alone, distance from 1 to 10: RNN goes from 1 to 0; LSTM goes from 1 to 1. mixed, ...')

In one chart each curve has its name at its right end. Panels share a legend below them, and a name has the
same colour in each; earlier curves are thicker, so that curves with the same values are all visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from course_lib import theme
from course_lib.formatting import significant
from course_lib.views.static_image import StaticImage, fit, to_array

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PINK, theme.YELLOW, theme.SKY)
MARKERS = "osD^vP"  # tell the curves apart without colour
PANEL_WIDTH, PANEL_HEIGHT = 3.2, 3.1  # inches, with labels
THICKEST, THINNER_BY = 5.0, 1.1  # points: the first curve of a panel, and each further one


class Part(NamedTuple):
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
) -> StaticImage:
    """One chart of up to six curves over the same x."""
    if not 1 <= len(curves) <= len(COLOURS):
        raise ValueError(f"A line chart has 1 to {len(COLOURS)} curves; {len(curves)} were given.")
    axes, ends = theme.figure().subplots(), {}
    points = _prepare(axes, Part(title, x, curves, y_name, log_x, log_y), x_name)
    for (name, xs, ys), colour, marker in zip(points, COLOURS, MARKERS, strict=False):
        axes.plot(xs, ys, color=colour, marker=marker if len(xs) <= 30 else "", markersize=4.5, label=name)
        ends[name] = xs[-1], ys[-1]
    if len(ends) > 1:
        label_line_ends(axes, ends, COLOURS)
    fit(axes, width=4.8, height=2.5)
    opening = f"{title or 'Lines'}: {y_name or 'y'} for {x_name or 'x'} {_ends_text(x, 3)}."
    return StaticImage(axes.figure, alt=alt or f"{opening} {_curves_text(curves, 3)}.")


def panels(parts: Sequence[Part], *, x_name: str, alt: str | None = None) -> StaticImage:
    """Up to three charts side by side."""
    names = list(dict.fromkeys(name for part in parts for name in part.curves))
    if not 1 <= len(parts) <= 3 or not 1 <= len(names) <= len(COLOURS):
        raise ValueError(
            f"1 to 3 panels have 1 to {len(COLOURS)} curves; {len(parts)} and {len(names)} were given."
        )
    figure, handles, sentences = theme.figure(PANEL_WIDTH * len(parts), PANEL_HEIGHT), {}, []
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)
    for axes, part in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        for name, xs, ys in _prepare(axes, part, x_name):
            i = names.index(name)
            width = max(THICKEST - THINNER_BY * i, 1.5)
            style = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": width + 2, "linewidth": width}
            [handles[name]] = axes.plot(xs, ys, label=name, **style)
        if part.y_limits:
            axes.set_ylim(part.y_limits)
        sentences.append(f"{part.title}, {x_name} {_ends_text(part.x, 2)}: {_curves_text(part.curves, 2)}.")
    below = {"loc": "outside lower center", "ncols": len(names), "fontsize": 10}
    figure.legend([handles[name] for name in names], names, **below)
    return StaticImage(figure, alt=alt or " ".join(sentences))


def _prepare(axes: Axes, part: Part, x_name: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Set scales, grid and names of the axes, then yield the name, x and y of each curve."""
    if part.log_x:
        axes.set_xscale("log")
        format_log_ticks(axes.xaxis)
    if part.log_y:
        axes.set_yscale("log")
        format_log_ticks(axes.yaxis)
    axes.grid(axis="y", linewidth=0.7)
    axes.set(xlabel=x_name, ylabel=part.y_name, title=part.title)
    xs = to_array(part.x, ndim=1, name="x")
    for name, values in part.curves.items():
        ys = to_array(values, ndim=1, name=f"Curve {name!r}")
        if ys.shape != xs.shape:
            raise ValueError(f"Curve {name!r} has {len(ys)} points and x has {len(xs)}; make them equal.")
        yield name, xs, ys


def _ends_text(values: Any, digits: int) -> str:
    return f"from {significant(values[0], digits)} to {significant(values[-1], digits)}"


def _curves_text(curves: Mapping[str, Any], digits: int) -> str:
    return "; ".join(f"{name} goes {_ends_text(values, digits)}" for name, values in curves.items())


def label_line_ends(axes: Axes, ends: Mapping[str, tuple[float, float]], colours: tuple[str, ...]) -> None:
    """Write each curve's name to the right of its last point, moved up or down where two would overlap."""
    axes.get_ylim()  # computes the limits, which the transform below needs
    to_fraction = axes.transData + axes.transAxes.inverted()
    heights = spread([to_fraction.transform(end)[1] for end in ends.values()], gap=0.085)
    style = {"xycoords": "axes fraction", "xytext": (6, 0), "textcoords": "offset points", "va": "center"}
    for name, height, colour in zip(ends, heights, colours, strict=False):
        axes.annotate(name, (1.0, height), **style, color=colour, fontweight="bold", annotation_clip=False)


def spread(heights: list[float], *, gap: float) -> list[float]:
    """Move heights apart until neighbours differ by at least `gap`.

    >>> spread([0.5, 0.5], gap=0.1)
    [0.45, 0.55]
    """
    order = np.argsort(heights, kind="stable")
    moved = np.array(heights, dtype=float)[order]
    for _ in range(200):
        overlap = gap - np.diff(moved)
        if (overlap <= 1e-9).all():
            break
        overlap = np.clip(overlap, 0, None) / 2
        moved[:-1] -= overlap
        moved[1:] += overlap
    return moved[np.argsort(order)].tolist()


def add_marker(axes: Axes) -> Line2D:
    """A dot that marks the current point of a curve; `set_data` moves it."""
    [dot] = axes.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)
    return dot


def format_log_ticks(*axes: Axis) -> None:
    """Label log axes 0.01, 1, 100 instead of powers of ten, without minor ticks."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
