"""The soft dictionary: a lookup on a menu that returns a weighted sum over all dishes.

    >>> compute(temperature=0.02, crunch=0.2, cream=10.0)["weights"].round(2)    # low: the best key alone
    array([0.99, 0.01, 0.  , 0.  , 0.  ])

The query describes what you would like to eat. The key of a dish says how sweet and how crunchy it is, and
its value how much sugar, protein and fat it has. The waffle can be edited: its key by `crunch`, its value by
`cream`.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Number, Panel, Show, blank_axes
from course_lib.formatting import fixed, minus
from course_lib.views.bars import Rectangles
from course_lib.views.pillow_text import add_text
from lessons.l00_start_here.softmax_dial import softmax

DISHES = ("waffle", "apple", "ice cream", "nachos", "soup")
NUTRIENTS = ("sugar", "protein", "fat")
QUERY = np.array([1.0, 0.5])  # something sweet, and rather crunchy
KEYS = np.array([[0.9, 0.2], [0.5, 0.8], [0.9, -0.8], [-0.7, 0.9], [-0.8, -0.7]])  # sweet, crunchy
GRAMS = [[20.0, 7.0, 10.0], [19.0, 0.0, 0.0], [28.0, 5.0, 14.0], [2.0, 6.0, 24.0], [4.0, 9.0, 5.0]]
VALUES = np.array(GRAMS)
WAFFLE, APPLE, CRUNCHY, FAT = 0, 1, 1, 2
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)

ROWS = np.arange(len(DISHES))  # one row for each dish, and below a rule their weighted sum
RULE, SUM_ROW, ROW_ENDS = len(DISHES) - 0.4, len(DISHES) + 0.1, (len(DISHES) + 0.65, -1.0)
MOST_CREAM = 40.0
GRAM = 0.66 / MOST_CREAM  # the width of a gram: the longest bar leaves room for its number
STARTS = 1.15 * np.arange(len(NUTRIENTS))  # left edges of the three columns


def look_up(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted sum of the values, and the attention weights: softmax(keys · query / temperature)."""
    weights = softmax(keys @ query / temperature)
    return weights @ values, weights


def compute(*, temperature: float, crunch: float, cream: float) -> Facts:
    keys, values = KEYS.copy(), VALUES.copy()
    keys[WAFFLE, CRUNCHY], values[WAFFLE, FAT] = crunch, cream
    context, weights = look_up(QUERY, keys, values, temperature)
    scores = keys @ QUERY
    return {
        "query": QUERY,
        "keys": keys,
        "scores": scores,
        "weights": weights,
        "values": values,
        "context": context,
    }


def draw_keys(axes: Axes) -> Show:
    """The query and the keys as arrows; only the waffle's key moves."""
    blank_axes(axes, x=(-1.4, 1.75), y=(-1.3, 1.25))
    axes.set(aspect="equal", anchor="N")
    axes.plot([-1.3, 1.7], [0, 0], color=theme.HAIRLINE, linewidth=1, zorder=0)
    axes.plot([0, 0], [-1.25, 1.2], color=theme.HAIRLINE, linewidth=1, zorder=0)
    tastes = {"sweet": (1.72, -0.04), "savoury": (-1.35, -0.04)}
    for name, (x, y) in {**tastes, "crunchy": (0.05, 1.22), "soft": (0.05, -1.27)}.items():
        sides = {"ha": "right" if x > 1 else "left", "va": "bottom" if y < -1 else "top"}
        axes.text(x, y, name, fontsize=8.5, color=theme.SOFT_INK, **sides)
    for (x, y), name in zip(KEYS[1:], DISHES[1:], strict=True):
        _arrow(axes, x, y, theme.KEY)
        side, right = ("right", -0.06) if name == "ice cream" else ("center", 0)  # beside the waffle's
        up, level = (0.08, "bottom") if y > 0 else (-0.1, "top")
        axes.text(x + right, y + up, name, ha=side, va=level, fontsize=9, color=theme.KEY)
    _arrow(axes, *QUERY, theme.QUERY)
    axes.text(1.06, 0.53, "query", color=theme.QUERY, size=9.5, fontweight="bold", va="bottom")
    formula = "softmax(key · query ÷ temperature)"
    axes.text(0, -0.02, formula, transform=axes.transAxes, va="top", fontsize=9, color=theme.SOFT_INK)
    [shaft] = axes.plot([], [], color=theme.KEY, linewidth=2.6)
    [tip] = axes.plot([], [], "o", color=theme.KEY, markersize=9, markeredgecolor=theme.PAPER)
    name = add_text(axes, 0, 0, "waffle", va="top", colour=theme.KEY, size=9.5, weight="bold")

    def show(facts: Facts) -> None:
        x, y = facts["keys"][WAFFLE]
        shaft.set_data([0, x], [0, y])
        tip.set_data([x], [y])
        name.set_position((x + 0.1, y - 0.04))

    return show


def _arrow(axes: Axes, x: float, y: float, colour: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "mutation_scale": 11}
    axes.annotate("", (x, y), (0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def draw_weights(axes: Axes) -> Show:
    axes.set(xlim=(0, 1.22), ylim=ROW_ENDS, xticks=())
    axes.set_yticks(ROWS, DISHES, fontsize=10, color=theme.INK)
    axes.spines[:].set_visible(False)
    axes.axhline(RULE, color=theme.INK, linewidth=1)
    words = {"ha": "right", "va": "center", "fontsize": 9.5, "fontweight": "bold", "linespacing": 1.3}
    axes.text(1.2, SUM_ROW, "context vector =\nweighted sum", **words)
    bars = Rectangles(axes, len(DISHES), theme.SKY)
    readings = [add_text(axes, 0, row, va="center", size=9.5) for row in ROWS]

    def show(facts: Facts) -> None:
        weights = facts["weights"]
        bars.set_edges(left=0, right=np.maximum(weights, 0.004), low=ROWS - 0.31, high=ROWS + 0.31)
        for reading, weight in zip(readings, weights, strict=True):
            reading.set(x=weight + 0.03, text=fixed(weight, 2))

    return show


def draw_values(axes: Axes) -> Show:
    """The value of each dish, paler if its attention weight is small, and their weighted sum below."""
    blank_axes(axes, x=(0, 3 * STARTS[1]), y=ROW_ENDS)
    axes.axhline(RULE, color=theme.INK, linewidth=1)
    for start, name in zip(STARTS, NUTRIENTS, strict=True):
        axes.text(start, -0.55, name, fontsize=9, color=theme.SOFT_INK, va="bottom")
    rows, starts = np.repeat(ROWS, len(NUTRIENTS)), np.tile(STARTS, len(DISHES))
    cells, total = Rectangles(axes, VALUES.size), Rectangles(axes, len(NUTRIENTS), theme.VALUE)
    grams = [add_text(axes, 0, row, va="center", size=9) for row in rows]
    sum_grams = [add_text(axes, 0, SUM_ROW, va="center", size=10.5, weight="bold") for _ in NUTRIENTS]

    def show(facts: Facts) -> None:
        values, context = facts["values"].ravel(), facts["context"]
        shades = np.tile(to_rgba(theme.VALUE), (len(rows), 1))
        shades[:, 3] = 0.18 + 0.82 * np.repeat(facts["weights"], len(NUTRIENTS)) ** 0.6
        ends, tops = starts + values * GRAM, STARTS + context * GRAM
        cells.set_edges(left=starts, right=ends, low=rows - 0.31, high=rows + 0.31, colours=shades)
        total.set_edges(left=STARTS, right=tops, low=SUM_ROW - 0.36, high=SUM_ROW + 0.36)
        for text, end, value in zip(grams, ends, values, strict=True):
            text.set(x=end + 0.035, text=fixed(value, 0))
        for text, end, value in zip(sum_grams, tops, context, strict=True):
            text.set(x=end + 0.035, text=fixed(value, 1))

    return show


class SoftDictionary(Explorable):
    title = "Soft dictionary: a larger menu"
    question = "You are looking for something sweet and crunchy. What does the lookup return?"
    temperature = Choice("temperature", TEMPERATURES, 0.5, text=lambda value: f"{value:g}")
    crunch = Number("crunch (key)", -1.0, 1.0, 0.2, step=0.1)
    cream = Number("cream (value)", 0.0, MOST_CREAM, 10.0, step=1.0)
    presets = {
        "low: almost an exact lookup": {"temperature": 0.02},
        "high: nearly uniform": {"temperature": 20.0},
        "twin keys": {"crunch": -0.8},
        "triple cream": {"cream": 30.0},
    }
    goals = {
        "fat-by-values": "About 15 g of fat without changing any attention weight",
        "fat-by-weights": "About 10 g of fat without changing the cream",
        "tie": "Make waffle and apple tie: work out the crunch first",
    }
    panels = (
        Panel("Query and keys", draw_keys, 1.32),
        Panel("Attention weights", draw_weights, 0.95),
        Panel("Values, in grams", draw_values, 1.25),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "fat-by-values": abs(now["context"][FAT] - 15) < 0.25
            and np.allclose(now["weights"], start["weights"]),
            "fat-by-weights": abs(now["context"][FAT] - 10) < 0.25
            and np.allclose(now["values"], start["values"]),
            "tie": np.isclose(now["weights"][WAFFLE], now["weights"][APPLE]),
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        crunch, cream = minus(fixed(facts["crunch"], 1)), f"{fixed(facts['cream'], 0)} g"
        return [f"temperature {facts['temperature']:g}", f"waffle: crunch {crunch}, cream {cream}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        weights = ", ".join(f"{dish} {fixed(w, 2)}" for dish, w in zip(DISHES, facts["weights"], strict=True))
        context = ", ".join(
            f"{name} {fixed(g, 1)} g" for name, g in zip(NUTRIENTS, facts["context"], strict=True)
        )
        return (
            f"Temperature {facts['temperature']:g}: attention weights {weights}. Context vector: {context}."
        )
