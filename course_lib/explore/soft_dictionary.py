"""W8, the soft dictionary: a cafeteria where you get a bit of every dish, by how well its label fits.

    >>> compute(temperature=0.02, crunch=0.2, cream=10.0)["weights"].round(2)    # cold: the best label alone
    array([1., 0., 0., 0., 0.])

The query is what you feel like. A dish has a label (its key) that is compared with the query, and contents
(its value) that land on your plate. The waffle can be edited: its label by `crunch`, its contents by `cream`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from traitlets import Enum

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.explore.control import Control, Number
from course_lib.explore.header import header
from course_lib.explore.softmax import softmax
from course_lib.formatting import fixed
from course_lib.views.bars import minus
from course_lib.views.blocks import Blocks
from course_lib.views.quick_text import quick_text
from course_lib.views.stage import Moving

DISHES = ("waffle", "apple", "ice cream", "nachos", "soup")
CONTENTS = ("sugar", "protein", "fat")
QUERY = np.array([1.0, 0.5])  # something sweet, and rather crunchy
LABELS = np.array([[0.9, 0.2], [0.5, 0.8], [0.9, -0.8], [-0.7, 0.9], [-0.8, -0.7]])  # sweet, crunchy
VALUES = np.array(
    [[20.0, 7.0, 10.0], [19.0, 0.0, 0.0], [28.0, 5.0, 14.0], [2.0, 6.0, 24.0], [4.0, 9.0, 5.0]]
)  # grams
WAFFLE, CRUNCHY, FAT = 0, 1, 2
MOST, GRAM = (
    40.0,
    0.66 / 40.0,
)  # the most cream, and the width of a gram: a full bar leaves room for its number
ROWS = np.arange(len(DISHES))
TRAY, RULE, PLATE, COLUMN = (
    (len(DISHES) + 0.65, -1.0),
    len(DISHES) - 0.4,
    len(DISHES) + 0.1,
    1.15,
)  # the tray's layout
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)


def look_up(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """The blended value and the weights: softmax(keys · query / temperature), then a weighted sum."""
    weights = softmax(keys @ query / temperature)
    return weights @ values, weights


def compute(*, temperature: float, crunch: float, cream: float) -> dict[str, Any]:
    keys, values = LABELS.copy(), VALUES.copy()
    keys[WAFFLE, CRUNCHY], values[WAFFLE, FAT] = crunch, cream
    plate, weights = look_up(QUERY, keys, values, temperature)
    return {
        "temperature": temperature,
        "crunch": crunch,
        "cream": cream,
        "query": QUERY,
        "keys": keys,
        "values": values,
        "scores": keys @ QUERY,
        "weights": weights,
        "plate": plate,
    }


def draw(figure: Figure) -> Moving:
    state = header(figure, SoftDictionary.title)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.32, 0.95, 1.25))
    arrows, place_waffle = _draw_labels(left)
    bars, show_weights = _draw_weights(middle)
    tray, show_contents = _draw_contents(right)

    def show(facts: dict[str, Any]) -> None:
        crunch, cream = minus(fixed(facts["crunch"], 1)), f"{fixed(facts['cream'], 0)} g"
        state.set_text(f"temperature {facts['temperature']:g}   ·   waffle: crunch {crunch}, cream {cream}")
        place_waffle(facts["keys"][WAFFLE])
        show_weights(facts["weights"])
        show_contents(facts)

    return Moving([state, *arrows, *bars, *tray], show)


def _draw_labels(axes: Axes) -> tuple[list[Artist], Callable[[np.ndarray], None]]:
    """The query and the keys as arrows. Only the waffle's moves."""
    axes.set_title("Query and keys")
    axes.set(xlim=(-1.4, 1.75), ylim=(-1.3, 1.25), xticks=(), yticks=(), aspect="equal", anchor="N")
    axes.spines[:].set_visible(False)
    axes.plot([-1.3, 1.7], [0, 0], color=theme.HAIRLINE, linewidth=1, zorder=0)
    axes.plot([0, 0], [-1.25, 1.2], color=theme.HAIRLINE, linewidth=1, zorder=0)
    for x, y, text, ha, va in (
        (1.72, -0.04, "sweet", "right", "top"),
        (-1.35, -0.04, "savoury", "left", "top"),
        (0.05, 1.22, "crunchy", "left", "top"),
        (0.05, -1.27, "soft", "left", "bottom"),
    ):
        axes.text(x, y, text, ha=ha, va=va, fontsize=8.5, color=theme.SOFT_INK)
    sides = {
        "apple": ("center", 0, 0.08),
        "nachos": ("center", 0, 0.08),
        "ice cream": ("right", -0.06, -0.1),
        "soup": ("center", 0, -0.1),
    }
    for (x, y), name in zip(LABELS[1:], DISHES[1:], strict=True):
        _arrow(axes, x, y, theme.KEY)
        ha, right, up = sides[name]
        axes.text(
            x + right, y + up, name, ha=ha, va="bottom" if y > 0 else "top", fontsize=9, color=theme.KEY
        )
    _arrow(axes, *QUERY, theme.QUERY)
    axes.text(
        QUERY[0] + 0.06,
        QUERY[1] + 0.03,
        "query",
        color=theme.QUERY,
        fontsize=9.5,
        fontweight="bold",
        va="bottom",
    )
    axes.text(
        0.0,
        -0.02,
        "score = key · query ÷ temperature",
        transform=axes.transAxes,
        va="top",
        fontsize=9,
        color=theme.SOFT_INK,
    )
    [shaft] = axes.plot([], [], color=theme.KEY, linewidth=2.6)
    [tip] = axes.plot([], [], "o", color=theme.KEY, markersize=9, markeredgecolor=theme.PAPER)
    name = quick_text(axes, 0, 0, "waffle", va="top", colour=theme.KEY, size=9.5, weight="bold")

    def place(key: np.ndarray) -> None:
        shaft.set_data([0, key[0]], [0, key[1]])
        tip.set_data(key[:1], key[1:])
        name.set_position((key[0] + 0.1, key[1] - 0.04))

    return [shaft, tip, name], place


def _draw_weights(axes: Axes) -> tuple[list[Artist], Callable[[np.ndarray], None]]:
    axes.set_title("Weights")
    axes.set(xlim=(0, 1.22), ylim=TRAY, xticks=())
    axes.set_yticks(ROWS, DISHES, fontsize=10, color=theme.INK)
    axes.spines[:].set_visible(False)
    axes.axhline(RULE, color=theme.INK, linewidth=1)
    axes.text(
        1.2,
        PLATE,
        "your plate =\nweights × contents",
        ha="right",
        va="center",
        fontsize=9.5,
        fontweight="bold",
        linespacing=1.3,
    )
    bars = Blocks(axes, len(DISHES), theme.SKY)
    readings = [quick_text(axes, 0, row, va="center", size=9.5) for row in ROWS]

    def show(weights: np.ndarray) -> None:
        bars.place(left=0, right=np.maximum(weights, 0.004), low=ROWS - 0.31, high=ROWS + 0.31)
        for reading, weight in zip(readings, weights, strict=True):
            reading.set_x(weight + 0.03)
            reading.set_text(fixed(weight, 2))

    return [bars.artist, *readings], show


def _draw_contents(axes: Axes) -> tuple[list[Artist], Callable[[dict[str, Any]], None]]:
    """Every dish's contents, paler the less of it is taken, and the blend below the line."""
    axes.set_title("Contents, in grams")
    axes.set(xlim=(0, 3 * COLUMN), ylim=TRAY, xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    axes.axhline(RULE, color=theme.INK, linewidth=1)
    starts = COLUMN * np.arange(3)
    for start, name in zip(starts, CONTENTS, strict=True):
        axes.text(start, -0.55, name, fontsize=9, color=theme.SOFT_INK, va="bottom")
    cells = Blocks(axes, VALUES.size)
    blend = Blocks(axes, 3, theme.VALUE)
    grams = [[quick_text(axes, 0, row, va="center", size=9) for _ in CONTENTS] for row in ROWS]
    plate_grams = [quick_text(axes, 0, PLATE, va="center", size=10.5, weight="bold") for _ in CONTENTS]

    def show(facts: dict[str, Any]) -> None:
        ends = starts + facts["values"] * GRAM
        rows = np.repeat(ROWS, 3)
        shades = np.repeat(_shades(facts["weights"]), 3, axis=0)
        cells.place(
            left=np.tile(starts, len(ROWS)),
            right=ends.ravel(),
            low=rows - 0.31,
            high=rows + 0.31,
            colours=shades,
        )
        for row in ROWS:
            for column, text in enumerate(grams[row]):
                text.set_x(ends[row, column] + 0.035)
                text.set_text(fixed(facts["values"][row, column], 0))
        tops = starts + facts["plate"] * GRAM
        blend.place(left=starts, right=tops, low=PLATE - 0.36, high=PLATE + 0.36)
        for column, text in enumerate(plate_grams):
            text.set_x(tops[column] + 0.035)
            text.set_text(fixed(facts["plate"][column], 1))

    return [cells.artist, blend.artist, *(text for row in grams for text in row), *plate_grams], show


def _arrow(axes: Axes, x: float, y: float, colour: str) -> None:
    axes.annotate(
        "",
        (x, y),
        (0, 0),
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "linewidth": 1.8,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 11,
        },
    )


def _shades(weights: np.ndarray) -> np.ndarray:
    """The contents' green, paler the less of a dish lands on the plate: (dishes, 4)."""
    shades = np.tile(to_rgba(theme.VALUE), (len(weights), 1))
    shades[:, 3] = 0.18 + 0.82 * weights**0.6
    return shades


class SoftDictionary(Explorable):
    title = "Soft dictionary: the cafeteria"
    question = "You feel like something sweet and crunchy. What lands on your plate?"
    temperature = Enum(TEMPERATURES, default_value=0.5)
    crunch = Number(0.2, min=-1.0, max=1.0)
    cream = Number(10.0, min=0.0, max=MOST)
    controls = (
        Control("temperature", "temperature", text=lambda value: f"{value:g}"),
        Control("crunch", "crunch (key)", step=0.1),
        Control("cream", "cream (value)", step=1.0),
    )
    presets: ClassVar = {
        "cold: almost exact look-up": {"temperature": 0.02},
        "hot: everything a bit": {"temperature": 20.0},
        "twin keys": {"crunch": -0.8},
        "triple cream": {"cream": 30.0},
    }
    compute = staticmethod(compute)
    draw = staticmethod(draw)

    def describe(self, facts: dict[str, Any]) -> str:
        shares = ", ".join(
            f"{dish} {fixed(weight, 2)}" for dish, weight in zip(DISHES, facts["weights"], strict=True)
        )
        plate = ", ".join(
            f"{name} {fixed(grams, 1)} g" for name, grams in zip(CONTENTS, facts["plate"], strict=True)
        )
        return f"Temperature {facts['temperature']:g}: weights {shares}. On the plate: {plate}."
