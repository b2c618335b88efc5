"""What changes is painted in the right order, and a goal is announced when it is reached and not again."""

from __future__ import annotations

from typing import ClassVar

from matplotlib.colors import to_rgb

from course_lib import theme
from course_lib.explore.raster.base import Integer, Panel, RasterExplorable
from course_lib.explore.raster.blitting import BlittedFigure


def draw_covered_dot(axes):
    """A dot that is added first but is on top, above a bar that changes too."""
    axes.set(xlim=(0, 4), ylim=(0, 4))
    [dot] = axes.plot([1], [1], "o", color=theme.ORANGE, zorder=5)
    [bar] = axes.plot([0, 4], [1, 1], color=theme.BLUE, linewidth=8, zorder=1)

    def show(facts):
        dot.set_data([facts["x"]], [1])
        bar.set_data([0, 4], [facts["y"], facts["y"]])

    return show


class CoveredDot(RasterExplorable):
    title = "Dot"
    size = (2.0, 2.0)
    x = Integer("x", 0, 4, 1)
    y = Integer("y", 0, 4, 1)
    goals: ClassVar = {"right": "Right of 3", "up": "Above 3"}
    panels = (Panel("Plane", draw_covered_dot),)
    compute = staticmethod(lambda *, x, y: {})

    @staticmethod
    def goals_met(now, start):
        return {"right": now["x"] > 3, "up": now["y"] > 3}

    @staticmethod
    def describe(facts):
        return f"The dot is at {facts['x']}, the bar at {facts['y']}."


def test_what_changes_is_painted_from_the_bottom_to_the_top():
    figure = BlittedFigure(theme.figure(2.0, 2.0), CoveredDot.draw, CoveredDot.start)
    figure.update({"x": 2, "y": 1})
    colours = {tuple(pixel) for pixel in figure.pixels()[..., :3].reshape(-1, 3).tolist()}
    for colour in (theme.ORANGE, theme.BLUE):
        assert tuple(round(255 * channel) for channel in to_rgb(colour)) in colours


def test_each_announcement_names_the_goals_of_that_move():
    dot = CoveredDot()
    picture = dot.view.children[-1]
    dot.x = 4
    assert CoveredDot.goals["right"] in picture.announcement
    dot.y = 4
    assert CoveredDot.goals["up"] in picture.announcement
    assert CoveredDot.goals["right"] not in picture.announcement
