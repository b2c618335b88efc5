"""An explorable whose panels are matplotlib axes. `panels` draw; everything else is as in explore/base.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from course_lib import theme
from course_lib.explore.base import Explorable, Facts
from course_lib.explore.control import Choice, Integer, Number, TextInput
from course_lib.explore.raster.blitting import BlittedFigure, Show
from course_lib.explore.raster.picture import TilePicture
from course_lib.explore.raster.pillow_text import add_text
from course_lib.views.static_image import MARGIN, StaticImage, encode_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # matplotlib's are slow to import, and explorables only annotate with them
    Axes = Any

__all__ = [
    "Axes",
    "Choice",
    "Facts",
    "Integer",
    "Number",
    "Panel",
    "RasterExplorable",
    "Show",
    "TextInput",
    "blank_axes",
]

BASELINE, PANELS_TOP = 0.34, 0.46  # inches from the top: of the title, of the panels


class Panel(NamedTuple):
    title: str
    draw: Callable[[Axes], Show]  # draws what stays, and returns the function that shows the rest
    width: float = 1.0  # relative to the other panels


class RasterExplorable(Explorable):
    size: ClassVar[tuple[float, float]] = (9.6, 3.8)  # inches of 80 CSS pixels; multiples of 0.2
    panels: ClassVar[tuple[Panel, ...]] = ()

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        """The state in words, right of the title, for a stored notebook, which shows no controls."""
        return []

    def static_image(self) -> StaticImage:
        with self._lock:
            self.shared_figure().update(self.facts)
            return StaticImage(self.shared_figure().figure, self.description, drawn=True)

    @classmethod
    @cache
    def shared_figure(cls) -> BlittedFigure:
        """One figure for all instances: running a cell fifty times makes one figure, not fifty."""
        return BlittedFigure(theme.figure(*cls.size), cls.draw, cls.facts_at(cls.start))

    @classmethod
    def draw(cls, figure: Figure) -> Show:
        """Draw the title, the state to the right of it, and the panels below."""
        width, height = figure.get_size_inches()
        left, bottom, baseline = MARGIN / width, MARGIN / height, 1 - BASELINE / height
        inside = (left, bottom, 1 - 2 * left, 1 - bottom - PANELS_TOP / height)
        figure.get_layout_engine().set(rect=inside, w_pad=0.06, h_pad=0.03)
        figure.text(left, baseline, cls.title, fontsize=13, fontweight="bold", in_layout=False)
        heading = add_text(figure, 1 - left, baseline, ha="right", colour=theme.SOFT_INK, size=11)
        grid = figure.add_gridspec(1, len(cls.panels), width_ratios=[panel.width for panel in cls.panels])
        all_axes = [figure.add_subplot(grid[i], title=panel.title) for i, panel in enumerate(cls.panels)]
        shows = [panel.draw(axes) for panel, axes in zip(cls.panels, all_axes, strict=True)]

        def show_all(facts: Facts) -> None:
            heading.set_text("   ·   ".join(cls.heading(facts)))
            for show in shows:
                show(facts)

        return show_all

    def _make_picture(self, traits: dict[str, Any]) -> TilePicture:
        background = self.shared_figure().background
        height, width, _ = background.shape
        return TilePicture(width=width, height=height, background=encode_png(background), **traits)

    def _drawn(self, facts: Facts) -> dict[str, Any]:
        self.shared_figure().update(facts)
        tile_numbers, tiles = self.shared_figure().changed_tiles()
        return {"tile_numbers": tile_numbers, "tiles": tiles, "alt": self.describe(facts)}


def blank_axes(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Axes without ticks and frame, to draw on."""
    axes.set(xlim=x, ylim=y, xticks=(), yticks=())
    axes.spines[:].set_visible(False)
