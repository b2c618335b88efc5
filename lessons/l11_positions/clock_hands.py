"""Clock hands: sinusoidal positional encodings and the dot products of their rows.

    >>> compute(position=10, distance=5, functions="sine and cosine")["product"]
    23.50...
    >>> compute(position=110, distance=5, functions="sine and cosine")["product"]  # a hundred positions later
    23.50...

Each pair of columns is drawn as a clock hand. Fast hands distinguish neighbouring positions, slow ones
distant positions. Without the cosine, the dot product of two rows also depends on where they are.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed
from course_lib.views.lines import add_marker

D_MODEL = 64  # as in our Transformer
LAST, FURTHEST = 120, 20  # the largest position and distance
FUNCTIONS = BOTH, SINE_ONLY = "sine and cosine", "sine only"
SHOWN = (0, 4, 8, 16)  # the hands that are drawn
FREQUENCIES = 10_000.0 ** (-np.arange(0, D_MODEL, 2) / D_MODEL)  # of each hand, in radians per position
DISTANCES = np.arange(-FURTHEST, FURTHEST + 1)


@cache
def rows_of(functions: str) -> np.ndarray:
    """The rows for positions from -20 to 140, in double precision."""
    angles = np.arange(-FURTHEST, LAST + FURTHEST + 1)[:, None] * FREQUENCIES
    second = np.zeros_like(angles) if functions == SINE_ONLY else np.cos(angles)
    return np.stack([np.sin(angles), second], axis=-1).reshape(len(angles), D_MODEL)


def row(functions: str, position: int) -> np.ndarray:
    return rows_of(functions)[FURTHEST + position]


def angular_distance(angle: float) -> float:
    """The distance of an angle from 0, in radians: at most π."""
    return float(abs((angle + np.pi) % (2 * np.pi) - np.pi))


def compute(*, position: int, distance: int, functions: str) -> Facts:
    here = row(functions, position)
    neighbours = rows_of(functions)[position : position + 2 * FURTHEST + 1]
    return {
        "product": float(here @ row(functions, position + distance)),
        "curve": neighbours @ here,
        "norm": float(np.linalg.norm(here)),
        "fastest_angle": angular_distance(distance),
        "hands": (row(functions, position), row(functions, position + distance)),
    }


def draw_hands(axes: Axes) -> Show:
    """A dial for each of four hands: dark for the first position, orange for the second."""
    centres = [(0, 0), (2.7, 0), (0, -3.2), (2.7, -3.2)]
    blank_axes(axes, x=(-1.5, 4.1), y=(-5.2, 1.2))
    axes.set_aspect("equal")
    circle = np.linspace(0, 2 * np.pi, 80)
    small, hands = {"size": 8.5, "color": theme.SOFT_INK, "ha": "center", "va": "top"}, []
    for number, (x, y) in zip(SHOWN, centres, strict=True):
        axes.plot(x + np.sin(circle), y + np.cos(circle), color=theme.HAIRLINE, linewidth=1.2)
        axes.text(x, y - 1.12, f"hand {number}\nfrequency {FREQUENCIES[number]:.2g}", **small)
        pair = [axes.plot([], [], color=c, linewidth=2.6)[0] for c in (theme.ORANGE, theme.INK)]
        hands.append((number, x, y, pair))

    def show(facts: Facts) -> None:
        here, there = facts["hands"]
        for number, x, y, pair in hands:
            for line, tips in zip(pair, (there, here), strict=True):
                line.set_data([x, x + tips[2 * number]], [y, y + tips[2 * number + 1]])

    return show


def draw_table(axes: Axes) -> Show:
    extent = (0, D_MODEL, LAST + FURTHEST + 0.5, -0.5)
    axes.set(xlabel="column", ylabel="position", xticks=(0, 16, 32, 48, 64), yticks=(0, 40, 80, 120))
    paint = {"cmap": theme.SCORES, "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    image = axes.imshow(rows_of(BOTH)[FURTHEST:], extent=extent, aspect="auto", **paint)
    lines = [axes.axhline(0, color=c, linewidth=2) for c in (theme.ORANGE, theme.INK)]

    def show(facts: Facts) -> None:
        image.set_data(rows_of(facts["functions"])[FURTHEST:])
        image.stale = True
        marked = facts["position"] + facts["distance"], facts["position"]
        for line, position in zip(lines, marked, strict=True):
            line.set_ydata([position, position])

    return show


def draw_curve(axes: Axes) -> Show:
    axes.set(xlabel="distance", ylabel="dot product", xticks=(-20, -10, 0, 10, 20))
    axes.set(xlim=(-21, 21), ylim=(0, 42), yticks=(0, 8, 16, 24, 32))
    axes.grid(axis="y")
    [curve] = axes.plot([], [], color=theme.BLUE, linewidth=2)
    dot = add_marker(axes)
    label = add_text(axes, 0.97, 0.97, coords="axes", ha="right", va="top", size=11, weight="bold")

    def show(facts: Facts) -> None:
        curve.set_data(DISTANCES, facts["curve"])
        dot.set(data=([facts["distance"]], [facts["product"]]), markerfacecolor=theme.ORANGE)
        label.set(text=f"{fixed(facts['product'], 2)} at distance {facts['distance']}", color=theme.ORANGE)

    return show


class ClockHands(RasterExplorable):
    title = "Sinusoidal positional encodings"
    question = "How similar are the encodings of two positions, here and a hundred positions later?"
    main_control = "distance"
    position = Integer("first position", 0, LAST, 10)
    distance = Integer("distance", 0, FURTHEST, 5)
    functions = Choice("columns", FUNCTIONS, BOTH, buttons=True)
    presets = {
        "distance 6": {"position": 10, "distance": 6},
        "a hundred positions later": {"position": 110},
        "neighbouring positions": {"position": 10, "distance": 1},
    }
    goals = {
        "three-quarters": "The smallest distance with a dot product below ¾ of the maximum",
        "comes-round": "A distance above 0 that brings hand 0 back to within 0.2 radians",
        "moves": "Sine only: a first position that changes the dot product by over 4",
    }
    panels = (
        Panel("Four of the 32 hands", draw_hands, 0.95),
        Panel("All encodings", draw_table, 0.85),
        Panel("Dot product", draw_curve, 1.1),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        distance, functions = now["distance"], now["functions"]
        right, limit = functions == BOTH, 0.75 * now["norm"] ** 2
        one_less = float(row(functions, now["position"]) @ row(functions, now["position"] + distance - 1))
        at_the_start = row(SINE_ONLY, start["position"]) @ row(SINE_ONLY, start["position"] + distance)
        return {
            "three-quarters": right and now["product"] < limit <= one_less,
            "comes-round": right and distance > 0 and now["fastest_angle"] < 0.2,
            "moves": functions == SINE_ONLY and abs(now["product"] - at_the_start) > 4,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        second = facts["position"] + facts["distance"]
        return [facts["functions"], f"positions {facts['position']} (dark) and {second} (orange)"]

    @staticmethod
    def describe(facts: Facts) -> str:
        first, second = facts["position"], facts["position"] + facts["distance"]
        return (
            f"Positional encodings with {facts['functions']}. Positions {first} and {second} have a dot "
            f"product of {fixed(facts['product'], 2)}; the encoding of position {first} has a norm of "
            f"{fixed(facts['norm'], 2)}."
        )
