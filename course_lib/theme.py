"""One palette and one figure style for the whole course.

Pictures have their own off-white background, so that they look right in JupyterLab, on GitHub and on a
projector; a dark page has a palette of its own. The hues are near Okabe and Ito's: they can be distinguished
with every common kind of colour blindness, and no meaning depends on red versus green.

    >>> axes = figure(6, 3).subplots()      # never pyplot, which isn't thread-safe and keeps figures alive
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and a machine that only trains has none
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

# Each colour has one meaning in the whole course: query and asking; keys and what is asked (memory); values
# and what flows on; the one accent (this step, this word, this mistake). The rest is grey. Only inside cells,
# query's blue is positive and key's orange negative. (light page, dark page)
PALETTE = {
    "paper": ("#FCFBF7", "#16191D"),
    "ink": ("#22272E", "#E8E6E0"),
    "soft": ("#646C77", "#9AA3AE"),
    "hair": ("#DAD7CE", "#363C44"),
    "wash": ("#F2EFE7", "#1F242A"),
    "calm": ("#9FACB9", "#54616D"),
    "query": ("#0072B2", "#56B4E9"),
    "key": ("#B84E00", "#FF8A3D"),
    "value": ("#007562", "#4FD0AA"),
    "accent": ("#B83A86", "#E879B8"),
}
PAPER, INK, SOFT_INK, HAIRLINE = (PALETTE[name][0] for name in ("paper", "ink", "soft", "hair"))
QUERY, KEY, VALUE, ACCENT = (PALETTE[name][0] for name in ("query", "key", "value", "accent"))
BLUE, ORANGE, GREEN, PINK = QUERY, KEY, VALUE, ACCENT
YELLOW, SKY = "#E69F00", "#56B4E9"


def palette(theme: int) -> str:
    """The palette as CSS variables: of the light page (0) or the dark one (1)."""
    return "".join(f"--{name}:{colours[theme]};" for name, colours in PALETTE.items())


RAMPS = {  # the colours of matplotlib's maps `theme.WEIGHTS` and `theme.SCORES`
    "WEIGHTS": [PAPER, "#C6DCEC", "#5BA3CF", BLUE, "#08335A"],
    "SCORES": ["#8A3B00", ORANGE, "#F3D3BC", PAPER, "#BFD9EA", BLUE, "#08335A"],
}


def __getattr__(name: str) -> LinearSegmentedColormap:
    if name not in RAMPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name.lower(), RAMPS[name])


DARK_PAGE = ':is(body[data-jp-theme-light="false"], html[data-theme="dark"])'  # JupyterLab, reading edition

# Each of our widgets adds these lines to the page. SVG takes its colours from the variables; in an <img>, it
# has both palettes and follows `color-scheme`. A filter inverts the lightness of others and keeps hues.
PAGE_STYLE = f"""
.course-svg {{ {palette(0)} }}
{DARK_PAGE} .course-svg {{ {palette(1)} }}
img.course-still {{ color-scheme: light; }}
{DARK_PAGE} img.course-still {{ color-scheme: dark; }}
{DARK_PAGE} :is(
  .course-picture canvas,
  img.course-raster,
  .jp-RenderedImage img.jp-needs-light-background
) {{
  filter: invert(0.92) hue-rotate(180deg);
}}
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
    from cycler import cycler
    from matplotlib import rcParams

    rcParams.update(STYLE)
    rcParams["axes.prop_cycle"] = cycler(color=[BLUE, ORANGE, GREEN, YELLOW, PINK, SKY])


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
