"""The key picture of this lesson: a query among keys, and the context vector among values.

`draw()` is the larger menu in two planes. With one of the other PARTS, attention is shown as grids of
numbers, with this step lit: `attention_grids.py`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib.formatting import fixed, minus
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, group, line, note, word
from lessons.l08_query_key_value import attention_grids
from lessons.l08_query_key_value.soft_dictionary import DISHES, FAT, KEYS, QUERY, SUGAR, VALUES, look_up

PARTS = ("", *attention_grids.PARTS)
TEMPERATURE = 0.5
TASTES = Plane(14, 96, 250, 250, (-1.25, 1.25), (-1.25, 1.25))
GRAMS = Plane(522, 96, 210, 250, (0, 31), (0, 27))
AXES = {"sweet": (1.42, 0.06), "savoury": (-1.0, 0.05), "crunchy": (-0.28, 1.12), "soft": (0.17, -1.2)}


@cache
def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, attention weights and context vector on the larger menu, as the explorable starts."""
    context, weights = look_up(np.array(QUERY), KEYS, VALUES, TEMPERATURE)
    return KEYS @ np.array(QUERY), weights, context


def draw(lit: str = "") -> Picture:
    """The query among the keys; the values, and the context vector that each pulls towards itself."""
    if lit:
        return attention_grids.grids(lit)
    scores, weights, context = numbers()
    title = "A soft lookup returns a mixture: the better a dish matches, the more of it"
    out = word(14, 28, title, 15, anchor="start", bold=True)
    heads = {
        14: "1 · compare the query with every key",
        292: "2 · softmax",
        496: "3 · average the values by weight",
    }
    out += "".join(word(x, 62, text, 13, "soft", "start") for x, text in heads.items())
    shares = [f"{dish} {fixed(float(weight), 2)}" for dish, weight in zip(DISHES, weights, strict=True)]
    grams = f"{fixed(float(context[SUGAR]), 1)} g of sugar and {fixed(float(context[FAT]), 1)} g of fat"
    return Picture(
        WIDTH,
        392,
        out + _keys(weights) + _weights(scores, weights) + _values(weights, context),
        alt="A query for something sweet and rather crunchy is compared with five dishes. Their attention "
        f"weights are {', '.join(shares)}, and the weighted average of their values has {grams}.",
    )


def _keys(weights: np.ndarray) -> str:
    """The keys; along a dashed line, all of them have the same score."""
    out = TASTES.cross()
    for score, (x, y) in {1: (0, -8), 0: (0, -8), -1: (0, 16)}.items():
        ends = [((score - 0.5 * up), up) for up in _inside(score)]  # where 1 · x + 0.5 · y is the score
        out += line([TASTES.at(*end) for end in ends], "query", 1, dash="3 4", opacity=0.7)
        across, down = TASTES.at(*ends[0 if score < 0 else 1])
        out += word(across + x, down + y, minus(f"score {score}"), 11, "query")
    out += "".join(word(*TASTES.at(*place), text, 11, "soft") for text, place in AXES.items())
    for dish, key, weight in zip(DISHES, KEYS, weights.tolist(), strict=True):
        across, down = TASTES.at(*key)
        label = word(across, down + (22 if key[1] < 0.5 else -12), dish, 13, "key", halo="paper")
        own = belongs(dish, tip=f"{dish}: attention weight {fixed(weight, 2)}")
        out += group(dot(across, down, 7, "key", "paper", 1, fill_opacity="0.85") + label, **own)
    x, y = TASTES.at(*QUERY)
    label = word(x - 44, y + 6, "query", 13, "query", bold=True, halo="paper")
    return out + TASTES.arrow(*QUERY, "query", 3) + label


def _inside(score: float) -> tuple[float, float]:
    """The heights at which the line of a score enters and leaves the plane."""
    edge = TASTES.x[1]
    return max(-edge, (score - edge) / 0.5), min(edge, (score + edge) / 0.5)


def _weights(scores: np.ndarray, weights: np.ndarray) -> str:
    """For each dish its score, and its attention weight as a bar."""
    out = word(390, 94, "score", 12, "query", "end") + word(402, 94, "weight", 12, "soft", "start")
    for i, (dish, score, weight) in enumerate(zip(DISHES, scores.tolist(), weights.tolist(), strict=True)):
        y = 124 + 40 * i
        own = belongs(dish, tip=f"{dish}: score {fixed(score, 2)}, attention weight {fixed(weight, 2)}")
        row = word(348, y, dish, 13, "key", "end") + word(390, y, minus(fixed(score, 2)), 12, "query", "end")
        row += box(402, y - 10, max(1.5, 80 * weight), 13, "calm", radius=2)
        out += group(row + word(408 + 80 * weight, y, fixed(weight, 2), 12, anchor="start"), **own)
    return out + note(292, 332, ["temperature 0.5: all scores", "are divided by it first"], 11)


def _values(weights: np.ndarray, context: np.ndarray) -> str:
    """The values, and a line from each to the context vector, as thick as its weight."""
    out = GRAMS.scale_x({x: str(x) for x in (0, 10, 20, 30)}, "grams of sugar")
    out += GRAMS.scale_y({y: str(y) for y in (0, 10, 20)}, rules=False)
    out += line([(GRAMS.left, GRAMS.top), (GRAMS.left, GRAMS.top + GRAMS.height)], "hair")
    out += word(GRAMS.left + 6, GRAMS.top - 4, "grams of fat", 12, "soft", "start")
    middle = GRAMS.at(context[SUGAR], context[FAT])
    for dish, value, weight in zip(DISHES, VALUES, weights.tolist(), strict=True):
        x, y = GRAMS.at(value[SUGAR], value[FAT])
        own = belongs(dish, tip=f"{dish}: attention weight {fixed(weight, 2)}")
        out += line([(x, y), middle], "value", max(0.6, 14 * weight), opacity=0.55, class_="link", **own)
        beside = dish in ("nachos", "apple")  # where nothing is above them
        label = word(
            x + 11 * beside,
            y - (-4 if dish == "nachos" else 9),
            dish,
            13,
            "value",
            "start" if beside else "middle",
        )
        out += group(dot(x, y, 5, "value", "paper", 1) + label, **own)
    grams = [f"{fixed(float(context[n]), 1)} g {name}" for n, name in ((SUGAR, "sugar"), (FAT, "fat"))]
    label = word(middle[0] + 14, middle[1] + 2, "context", 13, "accent", "start", bold=True, halo="paper")
    label += note(middle[0] + 14, middle[1] + 18, grams, 11, "accent")
    return out + dot(*middle, 7, "paper", "accent", 3) + label
