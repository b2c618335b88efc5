"""Clock hands: sinusoidal positional encodings and the dot products of their rows.

    >>> compute(position=10, offset=5, table="sin and cos")["product"]
    23.50...
    >>> compute(position=110, offset=5, table="sin and cos")["product"]     # a hundred positions later
    23.50...

A position is encoded by clock hands. The fast ones distinguish neighbours, the slow ones distant positions.
There are two wrong encodings: sines alone, and row 0 for every word, which is what the first sentence gets if
the table is indexed by the number of sentences (`table[:batch]`).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Integer, Panel, Show, blank_axes
from course_lib.formatting import fixed
from course_lib.views.lines import add_marker
from course_lib.views.pillow_text import add_text

D_MODEL = 64  # as in our Transformer
LAST, FURTHEST = 120, 20  # the largest position and offset
TABLES = ("sin and cos", "sin only", "row 0 for all")
SHOWN = (0, 4, 8, 16)  # the hands that are drawn
SPEEDS = 10_000.0 ** (-np.arange(0, D_MODEL, 2) / D_MODEL)  # of each hand, in radians per position
OFFSETS = np.arange(-FURTHEST, FURTHEST + 1)


@cache
def rows_of(table: str) -> np.ndarray:
    """The rows for positions from -20 to 140, in double precision."""
    angles = np.arange(-FURTHEST, LAST + FURTHEST + 1)[:, None] * SPEEDS
    if table == "row 0 for all":
        angles = np.zeros_like(angles)
    second = np.zeros_like(angles) if table == "sin only" else np.cos(angles)
    return np.stack([np.sin(angles), second], axis=-1).reshape(len(angles), D_MODEL)


def row(table: str, position: int) -> np.ndarray:
    return rows_of(table)[FURTHEST + position]


def angular_distance(angle: float) -> float:
    """The distance of an angle from 0, in radians: at most π."""
    return float(abs((angle + np.pi) % (2 * np.pi) - np.pi))


def compute(*, position: int, offset: int, table: str) -> Facts:
    here = row(table, position)
    neighbours = rows_of(table)[position : position + 2 * FURTHEST + 1]
    return {
        "product": float(here @ row(table, position + offset)),
        "curve": neighbours @ here,
        "length": float(np.linalg.norm(here)),
        "fastest_distance": angular_distance(offset),
        "hands": (row(table, position), row(table, position + offset)),
    }


def draw_hands(axes: Axes) -> Show:
    """A dial for each of four hands: dark at the position, orange at the offset."""
    centres = [(0, 0), (2.7, 0), (0, -3.2), (2.7, -3.2)]
    blank_axes(axes, x=(-1.5, 4.1), y=(-5.2, 1.2))
    axes.set_aspect("equal")
    circle = np.linspace(0, 2 * np.pi, 80)
    small, hands = {"size": 8.5, "color": theme.SOFT_INK, "ha": "center", "va": "top"}, []
    for number, (x, y) in zip(SHOWN, centres, strict=True):
        axes.plot(x + np.sin(circle), y + np.cos(circle), color=theme.HAIRLINE, linewidth=1.2)
        axes.text(x, y - 1.12, f"hand {number}\n{SPEEDS[number]:.2g} per position", **small)
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
    image = axes.imshow(rows_of("sin and cos")[FURTHEST:], extent=extent, aspect="auto", **paint)
    lines = [axes.axhline(0, color=c, linewidth=2) for c in (theme.ORANGE, theme.INK)]

    def show(facts: Facts) -> None:
        image.set_data(rows_of(facts["table"])[FURTHEST:])
        image.stale = True
        marked = facts["position"] + facts["offset"], facts["position"]
        for line, position in zip(lines, marked, strict=True):
            line.set_ydata([position, position])

    return show


def draw_curve(axes: Axes) -> Show:
    axes.set(xlabel="offset from this position", ylabel="dot product", xticks=(-20, -10, 0, 10, 20))
    axes.set(xlim=(-21, 21), ylim=(0, 42), yticks=(0, 8, 16, 24, 32))
    axes.grid(axis="y")
    [curve] = axes.plot([], [], color=theme.BLUE, linewidth=2)
    dot = add_marker(axes)
    label = add_text(axes, 0.97, 0.97, coords="axes", ha="right", va="top", size=11, weight="bold")

    def show(facts: Facts) -> None:
        curve.set_data(OFFSETS, facts["curve"])
        dot.set(data=([facts["offset"]], [facts["product"]]), markerfacecolor=theme.ORANGE)
        label.set(text=f"{fixed(facts['product'], 2)} at offset {facts['offset']}", color=theme.ORANGE)

    return show


class ClockHands(Explorable):
    title = "Clock hands"
    question = "How similar are two rows of the positional encoding, here and a hundred positions later?"
    position = Integer("position", 0, LAST, 10)
    offset = Integer("offset", 0, FURTHEST, 5)
    table = Choice("encoding", TABLES, "sin and cos", buttons=True)
    presets = {
        "offset 6": {"offset": 6},
        "position 110": {"position": 110},
        "neighbours": {"position": 10, "offset": 1},
        "row 0 for all": {"table": "row 0 for all"},
    }
    goals = {
        "three-quarters": "The smallest offset with a dot product below ¾ of that at offset 0",
        "comes-round": "An offset that brings hand 0 almost back to where it was",
        "moves": "Sin only: a position whose dot product is over 4 off position 10's",
    }
    panels = (
        Panel("Four of the 32 hands", draw_hands, 0.95),
        Panel("Positional encoding", draw_table, 0.85),
        Panel("Dot products with this row", draw_curve, 1.1),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        offset, right, limit = now["offset"], now["table"] == "sin and cos", 0.75 * now["length"] ** 2
        one_less = float(row(now["table"], now["position"]) @ row(now["table"], now["position"] + offset - 1))
        here = row("sin only", start["position"]) @ row("sin only", start["position"] + offset)
        return {
            "three-quarters": right and now["product"] < limit <= one_less,
            "comes-round": right and offset > 0 and now["fastest_distance"] < 0.2,
            "moves": now["table"] == "sin only" and abs(now["product"] - here) > 4,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        further = facts["position"] + facts["offset"]
        return [facts["table"], f"position {facts['position']}", f"orange: {further}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        here, there = facts["position"], facts["position"] + facts["offset"]
        return (
            f"Encoding: {facts['table']}. The rows of positions {here} and {there} have a dot product of "
            f"{fixed(facts['product'], 2)}; row {here} has a norm of {fixed(facts['length'], 2)}."
        )
