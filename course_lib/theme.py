"""One palette and one figure style for the whole course.

Figures have their own off-white background, so that they look right in JupyterLab, on GitHub and on a
projector; on a dark page `PAGE_STYLE` inverts them. The hues are Okabe and Ito's: they can be
distinguished with every common kind of colour blindness, and no meaning depends on red versus green.

    >>> axes = figure(6, 3).subplots()      # never pyplot, which isn't thread-safe and keeps figures alive
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cycler import cycler
from matplotlib import rcParams
from matplotlib.colors import LinearSegmentedColormap

if TYPE_CHECKING:  # slow to import
    from matplotlib.figure import Figure

PAPER = "#FCFBF7"
INK = "#22272E"
SOFT_INK = "#646C77"
HAIRLINE = "#DAD7CE"

BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
YELLOW = "#E69F00"
PINK = "#CC79A7"
SKY = "#56B4E9"

QUERY, KEY, VALUE = BLUE, ORANGE, GREEN  # the same three colours in every lesson

WEIGHTS = LinearSegmentedColormap.from_list("weights", [PAPER, "#C6DCEC", "#5BA3CF", BLUE, "#08335A"])
SCORES = LinearSegmentedColormap.from_list(
    "scores", ["#8A3B00", ORANGE, "#F3D3BC", PAPER, "#BFD9EA", BLUE, "#08335A"]
)

# Inverts lightness and keeps hues. Each of our widgets adds these lines to the page, where they apply to all
# pictures: live ones, diagrams, and stored PNGs by the class that JupyterLab gives them. The first selector
# matches JupyterLab's dark theme, the second that of the reading edition.
PAGE_STYLE = """
:is(body[data-jp-theme-light="false"], html[data-theme="dark"])
  :is(.course-picture canvas, img.course-diagram, .jp-RenderedImage img.jp-needs-light-background) {
  filter: invert(0.92) hue-rotate(180deg);
}
"""

DPI = 160  # twice the size at which it is shown, so that it is sharp on a high-resolution screen

STYLE = {
    "figure.facecolor": PAPER,
    "figure.dpi": DPI,
    "savefig.facecolor": PAPER,
    "savefig.dpi": DPI,
    "axes.facecolor": PAPER,
    "axes.edgecolor": HAIRLINE,
    "axes.labelcolor": SOFT_INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 10,
    "axes.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": HAIRLINE,
    "grid.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, YELLOW, PINK, SKY]),
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same picture on every machine
    "font.size": 10,
    "text.color": INK,
    "xtick.color": SOFT_INK,
    "ytick.color": SOFT_INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "image.cmap": "cividis",
}


def use() -> None:
    """Use the style for everything that matplotlib draws from now on."""
    rcParams.update(STYLE)


def figure(width: float = 7.0, height: float = 3.0) -> Figure:
    """A figure in the course's style, its size in inches, with its own canvas and without pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, so when something is drawn
    from matplotlib.figure import Figure

    use()  # axes read the style when they are made, which is after this returns
    new = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(new)
    return new


def ink_on(colour: tuple[float, float, float, float]) -> str:
    """The text colour that is readable on a colour (red, green, blue, opacity)."""
    red, green, blue, _ = colour
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else PAPER
