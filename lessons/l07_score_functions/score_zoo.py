"""The score zoo: one query, three keys, six scores, and the softmax of each.

    >>> facts = compute(angle=20, length=1.0, key_2=1.0)
    >>> facts["scores"].shape                       # six scores of three keys
    (6, 3)

Everything is two numbers wide, so that it can be drawn. The weights (parameters) of general, additive and
location are fixed here; in a network they are learned. `general` turns the query by 90° before the dot
product.
"""

from __future__ import annotations

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.raster.artists import Rectangles
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Number,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, minus
from course_lib.layers.scores import additive, cosine, dot, general, location, scaled_dot
from lessons.l00_start_here.softmax_dial import softmax

TURN = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])  # q W is q turned by 90° to the left
W_QUERY = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
W_KEY = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
V = torch.tensor([1.0, 1.0, -0.5])
W_LOCATION = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
SCORES = {
    "dot": dot,
    "scaled dot": scaled_dot,
    "cosine": cosine,
    "general": lambda query, keys: general(query, keys, weight=TURN),
    "additive": lambda query, keys: additive(query, keys, w_query=W_QUERY, w_key=W_KEY, v=V),
    "location": lambda query, keys: location(query, keys, weight=W_LOCATION),
}
PARAMETERS = (0, 0, 0, TURN.numel(), W_QUERY.numel() + W_KEY.numel() + V.numel(), W_LOCATION.numel())
KEY_ANGLES, KEY_LENGTHS = (10.0, 60.0, 130.0), (1.0, 1.0, 1.5)
COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN)
ANGLES = tuple(range(0, 360, 10))
LONGEST, REACH = 2.4, 2.8
ROWS = (len(SCORES) - 0.5, -0.9)  # from the bottom to the top


def vector(degrees: float, length: float) -> np.ndarray:
    radians = np.deg2rad(degrees)
    return length * np.array([np.cos(radians), np.sin(radians)])


def compute(*, angle: int, length: float, key_2: float) -> Facts:
    """All scores of the three keys; `key_2` is the length of the second."""
    query = vector(angle, length)
    lengths = (KEY_LENGTHS[0], key_2, KEY_LENGTHS[2])
    keys = np.stack([vector(degrees, size) for degrees, size in zip(KEY_ANGLES, lengths, strict=True)])
    inputs = torch.from_numpy(query)[None].float(), torch.from_numpy(keys).float()
    scores = np.stack([score(*inputs)[0].double().numpy() for score in SCORES.values()])
    return {"query": query, "keys": keys, "scores": scores, "weights": softmax(scores)}


def draw_arrows(axes: Axes) -> Show:
    blank_axes(axes, x=(-REACH, REACH), y=(-REACH, REACH))
    axes.set(aspect="equal", anchor="N")
    axes.axhline(0, color=theme.HAIRLINE, linewidth=0.8, zorder=0)
    axes.axvline(0, color=theme.HAIRLINE, linewidth=0.8, zorder=0)
    colours = (theme.INK, *COLOURS)
    shafts = [
        axes.plot([0, 1], [0, 1], color=colour, linewidth=2.6, solid_capstyle="round")[0]
        for colour in colours
    ]
    heads = [axes.plot([0], [0], "o", color=colour, markersize=7)[0] for colour in colours]
    names = [
        add_text(axes, 0, 0, ha="center", va="center", colour=colour, weight="bold") for colour in colours
    ]

    def show(facts: Facts) -> None:
        for number, tip in enumerate((facts["query"], *facts["keys"])):
            shafts[number].set_data([0, tip[0]], [0, tip[1]])
            heads[number].set_data([tip[0]], [tip[1]])
            x, y = tip * (1 + 0.32 / max(np.hypot(*tip), 0.1))
            names[number].set(text="q" if number == 0 else f"k{number}", x=x, y=y)

    return show


def draw_scores(axes: Axes) -> Show:
    blank_axes(axes, x=(-2.3, 3.0), y=ROWS)
    for row, (name, count) in enumerate(zip(SCORES, PARAMETERS, strict=True)):
        axes.text(-2.25, row - 0.1, name, va="center", size=10.5, fontweight="bold")
        learned = f"{count} parameters" if count else "no parameters"
        axes.text(-2.25, row + 0.28, learned, va="center", size=8, color=theme.SOFT_INK)
    for key, colour in enumerate(COLOURS):
        axes.text(key + 0.5, -0.7, f"k{key + 1}", ha="center", va="center", color=colour, fontweight="bold")
    numbers = [
        [add_text(axes, key + 0.82, row, ha="right", va="center", size=10.5) for key in range(3)]
        for row in range(len(SCORES))
    ]

    def show(facts: Facts) -> None:
        for texts, values in zip(numbers, facts["scores"], strict=True):
            best = values >= values.max() - 1e-9
            labels = [minus(fixed(value, 2)) for value in values]
            set_texts(texts, labels, np.where(best, COLOURS, theme.INK), bold=best)

    return show


def draw_weights(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=ROWS)
    count = len(SCORES)
    blocks = Rectangles(axes, 3 * count, [colour for colour in COLOURS for _ in range(count)])
    low = np.tile(np.arange(count) - 0.3, 3)
    cells = [(row, key) for row in range(count) for key in range(3)]
    readings = [add_text(axes, 0, row, ha="center", va="center", colour=theme.PAPER) for row, _ in cells]

    def show(facts: Facts) -> None:
        ends = facts["weights"].cumsum(axis=1)
        starts = ends - facts["weights"]
        blocks.set_edges(left=starts.T.ravel(), right=ends.T.ravel(), low=low, high=low + 0.6)
        weights = facts["weights"].ravel()
        set_texts(
            readings, [fixed(weight, 2).removeprefix("0") if weight > 0.12 else "" for weight in weights]
        )
        for reading, cell in zip(readings, cells, strict=True):
            reading.set_x((starts[cell] + ends[cell]) / 2)

    return show


def favourite(facts: Facts, name: str) -> int:
    return int(facts["weights"][list(SCORES).index(name)].argmax())


class ScoreZoo(RasterExplorable):
    title = "Score zoo"
    question = "One query, three keys: when do the score functions disagree about the best key?"
    size = (9.6, 4.0)
    main_control = "key_2"
    angle = Choice("angle of q", ANGLES, 30, text=lambda degrees: f"{degrees}°")
    length = Number("length of q", 0.2, LONGEST, 1.0, step=0.2)
    key_2 = Number("length of k2", 0.2, LONGEST, 1.0, step=0.2)
    presets = {"k2 twice as long": {"key_2": 2.0}, "q twice as long": {"length": 2.0}}
    goals = {
        "disagree": "Dot and cosine favour different keys",
        "agree": "All six score functions favour the same key",
        "long": "The largest weight is above 0.9 with dot and below 0.6 with cosine",
    }
    panels = (
        Panel("Query and keys", draw_arrows),
        Panel("Scores", draw_scores, 1.15),
        Panel("Attention weights: softmax", draw_weights, 1.15),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        largest = dict(zip(SCORES, now["weights"].max(axis=1), strict=True))
        return {
            "disagree": favourite(now, "dot") != favourite(now, "cosine"),
            "agree": len({favourite(now, name) for name in SCORES}) == 1,
            "long": largest["dot"] > 0.9 and largest["cosine"] < 0.6,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        lengths = [f"|q| = {fixed(facts['length'], 1)}", f"|k2| = {fixed(facts['key_2'], 1)}"]
        return [f"q at {facts['angle']}°", *lengths]

    @staticmethod
    def describe(facts: Facts) -> str:
        best = ", ".join(f"{name} k{favourite(facts, name) + 1}" for name in SCORES)
        return (
            f"Query at {facts['angle']}°, {fixed(facts['length'], 1)} long; key 2 is "
            f"{fixed(facts['key_2'], 1)} long. The best key of each score function: {best}."
        )
