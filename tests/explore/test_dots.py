"""The large dot of an explorable marks a point of a curve in its own panel."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from matplotlib.lines import Line2D

from course_lib import theme
from course_lib.views.lines import add_marker
from tests.explore.settings import RASTER
from tests.explore.test_numbers import states

EXAMPLE = add_marker(theme.figure().subplots())
BETWEEN_STEPS = {("GateMixer", "Cell state")}  # its curve is drawn from step to step, the half-life is exact
TOLERANCE = 3  # pixels; the dot's radius is 11


def is_dot(line: Line2D) -> bool:
    return (line.get_marker(), line.get_markersize()) == (EXAMPLE.get_marker(), EXAMPLE.get_markersize())


def distance(dot: Line2D, curve: Line2D) -> float:
    """From a dot to the nearest point of a curve, in pixels."""
    [point] = dot.get_transform().transform(dot.get_xydata())
    corners = curve.get_transform().transform(curve.get_xydata())
    corners = np.vstack([corners[:1], corners])  # a curve may have one point only
    starts, steps = corners[:-1], np.diff(corners, axis=0)
    along = ((point - starts) * steps).sum(axis=1) / np.maximum((steps**2).sum(axis=1), 1e-12)
    nearest = starts + along.clip(0, 1)[:, None] * steps
    return float(np.nanmin(np.linalg.norm(nearest - point, axis=1), initial=np.inf))


WITH_DOTS = [kind for kind in RASTER if hasattr(sys.modules[kind.__module__], add_marker.__name__)]


@pytest.mark.parametrize("kind", WITH_DOTS, ids=lambda kind: kind.__name__)
def test_every_dot_is_on_a_curve(kind):
    figure = kind.shared_figure()
    panels = [
        axes
        for axes in figure.figure.axes
        if (kind.__name__, axes.get_title(loc="left")) not in BETWEEN_STEPS
    ]
    n_dots = 0
    for state in states(kind):
        figure.update(kind.facts_at(state))
        for axes in panels:
            dots = [line for line in axes.lines if is_dot(line)]
            lines = [line for line in axes.lines if line.get_transform() == axes.transData]  # no axhline
            curves = [line for line in lines if line not in dots]
            for dot in dots:
                n_dots += 1
                gap = min(distance(dot, curve) for curve in curves)
                assert gap < TOLERANCE, f"{axes.get_title(loc='left')} at {state}"
    assert n_dots
