"""Panels: pictures of lines side by side, a curve of the same name in the same colour in each.

>>> alone = Part("alone", [1, 10], {"RNN": [1, 0], "LSTM": [1, 1]}, y_name="right, %")
>>> panels([alone, Part("mixed", [1, 10], {"RNN": [0.2, 0.2]}, y_name="right, %")], x_name="distance")

One row of names stands below all panels. A curve that comes first is drawn thickest, so that curves which
lie on one another are all seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from course_lib import theme
from course_lib.formatting import significant
from course_lib.views.lines import COLOURS, MARKERS, plain_powers
from course_lib.views.still import Still, as_numbers

WIDTH, HEIGHT = 3.2, 3.1  # inches, of one panel with its labels
THICKEST, THINNER = 5.0, 1.1  # points; each curve is so much thinner than the one before


class Part(NamedTuple):
    """One panel."""

    title: str
    x: Any
    curves: Mapping[str, Any]
    y_name: str = ""
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


def panels(parts: Sequence[Part], *, x_name: str, alt: str | None = None) -> Still:
    """A still picture of up to three panels."""
    names = list(dict.fromkeys(name for part in parts for name in part.curves))
    if not 1 <= len(parts) <= 3 or not 1 <= len(names) <= len(COLOURS):
        raise ValueError(f"1 to 3 panels hold 1 to {len(COLOURS)} curves; {len(parts)}, {len(names)} came.")
    figure = theme.figure(WIDTH * len(parts), HEIGHT)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)
    for axes, part in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        _draw(axes, part, names)
        axes.set_xlabel(x_name)
    handles = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    figure.legend(
        [handles[name] for name in names], names, loc="outside lower center", ncols=len(names), fontsize=10
    )
    return Still(figure, alt=alt or " ".join(_describe(part, x_name) for part in parts))


def _draw(axes: Axes, part: Part, names: list[str]) -> None:
    places = as_numbers(part.x, ndim=1, what="x")
    if part.log_x:
        axes.set_xscale("log")
        plain_powers(axes.xaxis)
    if part.log_y:
        axes.set_yscale("log")
        plain_powers(axes.yaxis)
    for name, values in part.curves.items():
        heights = as_numbers(values, ndim=1, what=f"Curve {name!r}")
        if heights.shape != places.shape:
            raise ValueError(
                f"Curve {name!r} has {len(heights)} points and x has {len(places)}; make them equal."
            )
        place = names.index(name)
        look = {"color": COLOURS[place], "marker": MARKERS[place]}
        width = max(THICKEST - THINNER * place, 1.5)
        axes.plot(places, heights, label=name, linewidth=width, markersize=width + 2, **look)
    axes.grid(axis="y", color=theme.HAIRLINE, linewidth=0.7)
    axes.set(ylabel=part.y_name, title=part.title)
    if part.y_limits:
        axes.set_ylim(part.y_limits)


def _describe(part: Part, x_name: str) -> str:
    def ends(values: Any) -> str:
        return f"from {significant(values[0], 2)} to {significant(values[-1], 2)}"

    runs = "; ".join(f"{name} goes {ends(values)}" for name, values in part.curves.items())
    return f"{part.title}, {x_name} {ends(part.x)}: {runs}."
