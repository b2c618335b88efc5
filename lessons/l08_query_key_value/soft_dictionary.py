"""The soft dictionary: a lookup on a menu that returns a weighted sum over all dishes.

    >>> compute(query=(1.0, 0.5), temperature=0.02, cream=10)["weights"].round(2)    # low: the best key alone
    array([0.99, 0.01, 0.  , 0.  , 0.  ])

The query describes what you would like to eat: sweet or savoury, crunchy or soft. The key of a dish says what
it is, and its value how much sugar, protein and fat it has. The picture shows sugar and fat as a plane of
their own, in which the context vector is a point: it never leaves the polygon of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Point
from course_lib.formatting import fixed
from course_lib.views.plane import Plane
from course_lib.views.shapes import side_bars
from course_lib.views.svg import belongs, dot, group, line, number, tag, word
from lessons.l00_start_here.softmax_dial import softmax

DISHES = ("waffle", "apple", "ice cream", "nachos", "soup")
NUTRIENTS = ("sugar", "protein", "fat")
QUERY = (1.0, 0.5)  # something sweet, and rather crunchy
KEYS = np.array([[0.9, 0.2], [0.5, 0.8], [0.9, -0.8], [-0.7, 0.9], [-0.8, -0.7]])  # sweet, crunchy
GRAMS = [[20.0, 7.0, 10.0], [19.0, 0.0, 0.0], [28.0, 5.0, 14.0], [2.0, 6.0, 24.0], [4.0, 9.0, 5.0]]
VALUES = np.array(GRAMS)
WAFFLE, SUGAR, FAT = 0, 0, 2
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
CREAM = {10: "plain", 30: "triple cream"}  # grams of fat of the waffle

TASTES = Plane(34, 84, 256, 256, (-1.3, 1.3), (-1.3, 1.3))
GRAM_PLANE = Plane(352, 78, 228, 262, (0, 32), (0, 36))
AXES = {"sweet": (1.14, -0.13), "savoury": (-1.08, 0.05), "crunchy": (0.29, 1.22), "soft": (0.17, -1.28)}
ABOVE = {"halo": "paper", "pointer_events": "none"}  # labels over what is dragged
Pair = tuple[float, float]
BARS = 664  # where the bars of the attention weights start


def look_up(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted sum of the values, and the attention weights: softmax(keys · query / temperature)."""
    weights = softmax(keys @ query / temperature)
    return weights @ values, weights


def compute(*, query: tuple[float, float], temperature: float, cream: int) -> Facts:
    values = VALUES.copy()
    values[WAFFLE, FAT] = cream
    context, weights = look_up(np.array(query), KEYS, values, temperature)
    return {
        "scores": KEYS @ np.array(query),
        "keys": KEYS,
        "weights": weights,
        "values": values,
        "context": context,
    }


def draw_keys(facts: Facts) -> Iterable[str]:
    """The keys as points, and the query as an arrow that can be taken hold of."""
    plane, (x, y) = TASTES, TASTES.at(*facts["query"])
    yield plane.cross()
    taken, labels = [plane.at(*place) for place in AXES.values()], ""
    yield "".join(word(*place, text, 11, "soft") for text, place in zip(AXES, taken, strict=True))
    for dish, key, weight in zip(DISHES, KEYS, facts["weights"], strict=True):
        (across, down), radius = plane.at(*key), 4 + 12 * float(weight) ** 0.5
        right, own = dish == "waffle", belongs(dish, tip=tip(dish, weight))  # under it is the name of an axis
        label = (across, down + radius + 15) if key[1] < 0 else (across, down - radius - 6)
        label, anchor = ((across + 22, down + 4), "start") if right else (label, "middle")
        taken.append((label[0] + 22 * right, label[1]))
        yield group(dot(across, down, radius, "key", "paper", 1, fill_opacity="0.85"), **own)
        labels += group(word(*label, dish, 13, "key", anchor, **ABOVE), class_="word", **own)
    yield plane.arrow(*facts["query"], "query", 2.5, data_end="query")
    yield plane.handle("query", facts["query"], 0.05, label="query: sweet, crunchy")
    by = freest((x, y), ((0, -17), (0, 28)), taken)
    moving = {"data_follows": "query", "data_by": f"{by[0]} {by[1]}"}
    yield labels + word(x + by[0], y + by[1], "query", 13, "query", bold=True, **ABOVE, **moving)


def freest(place: Pair, ways: Sequence[Pair], taken: Sequence[Pair]) -> Pair:
    """Of some ways to go from a place, the one that ends farthest from labels that are already there."""

    def room(way: Pair) -> float:
        x, y = place[0] + way[0], place[1] + way[1]
        return min(max(abs(x - across) / 56, abs(y - down) / 15) for across, down in taken)

    return max(ways, key=lambda way: min(1.0, room(way)))  # the first that has room


def tip(dish: str, weight: float) -> str:
    return f"{dish}: attention weight {fixed(float(weight), 2)}"


def draw_values(facts: Facts) -> Iterable[str]:
    """The values as points, a line from each to the context vector: as thick as its weight."""
    plane, labels = GRAM_PLANE, ""
    grams = facts["values"][:, [SUGAR, FAT]]
    points = {dish: plane.at(*value) for dish, value in zip(DISHES, grams, strict=True)}
    context = plane.at(facts["context"][SUGAR], facts["context"][FAT])
    yield plane.scale_x({0: "0", 10: "10", 20: "20", 30: "30"}, "grams of sugar")
    yield plane.scale_y({0: "0", 10: "10", 20: "20", 30: "30"}, rules=False)
    yield line([(plane.left, plane.top), (plane.left, plane.top + plane.height)], "hair")
    yield word(plane.left + 6, plane.top + 9, "grams of fat", 12, "soft", "start")
    around = " ".join(f"{number(x)},{number(y)}" for x, y in hull(list(points.values())))
    yield tag("polygon", points=around, fill="var(--value)", fill_opacity="0.09", stroke="var(--hair)")
    for (dish, (x, y)), weight in zip(points.items(), facts["weights"].tolist(), strict=True):
        own, strong = belongs(dish, tip=tip(dish, weight)), {"opacity": 0.2 + 0.6 * weight}
        yield line([(x, y), context], "value", max(0.5, 10 * weight), class_="link", **strong, **own)
        yield group(dot(x, y, 5, "value", "paper", 1), **own)
        labels += group(word(x, y - 14, dish, 13, "value", halo="paper"), class_="word", **own)
    yield dot(*context, 8, "paper", "value", 3) + labels
    side = 42 if context[0] < plane.left + plane.width / 2 else -42  # towards the middle
    ways = (side, 4), (side, 19), (0, 26), (side, -8), (side, -22), (side, -36)
    taken = [(x, y - 14) for x, y in points.values()]
    taken += [(plane.at(sugar, 0)[0], plane.at(0, 0)[1] + 16) for sugar in (0, 10, 20, 30)]
    across, down = freest(context, ways, taken)
    yield word(context[0] + across, context[1] + down, "context", 13, "value", bold=True, halo="paper")


def hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the smallest convex polygon around the points, in order (Andrew's monotone chain)."""

    def chain(ordered: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for x, y in ordered:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    ordered = sorted(points)
    return chain(ordered) + chain(ordered[::-1])


def headline(weights: np.ndarray) -> str:
    best, largest = DISHES[int(weights.argmax())], weights.max()
    if largest < 1.3 * weights.min():
        return "All dishes count about equally: the lookup returns nearly their average"
    if largest >= 0.9:
        return f"Nearly all the attention goes to *{best}*: this is almost an exact lookup"
    second = DISHES[int(weights.argsort()[-2])]
    if largest - weights.max(initial=0, where=weights < largest) < 0.05:
        return f"*{best}* and *{second}* get about the same attention"
    return f"The highest score with this query is that of *{best}*: its value counts most"


class SoftDictionary(Explorable):
    title = "Soft dictionary: a larger menu"
    question = "Take hold of the query. What does the lookup return?"
    size = (760, 386)
    query = Point("query", TASTES, QUERY, step=0.05)
    temperature = Choice("temperature", TEMPERATURES, 0.5, text=lambda value: f"{value:g}")
    cream = Choice("waffle's value", tuple(CREAM), 10, text=CREAM.__getitem__, buttons=True)
    main_control = "temperature"
    presets = {
        "almost an exact lookup": {"temperature": 0.02},
        "nearly uniform": {"temperature": 20.0},
        "triple cream": {"cream": 30},
    }
    goals = {
        "share": "Soup and nachos share at least 0.9, about equally (0.45 or more each)",
        "fat": "The plain waffle, temperature 0.5: more than 15 g of fat",
        "exact": "At temperature 0.3, one dish gets an attention weight of 0.9 or more",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        weights = dict(zip(DISHES, now["weights"], strict=True))
        plain = now["cream"] == start["cream"]
        return {
            "share": min(weights["soup"], weights["nachos"]) >= 0.45,
            "fat": plain and now["temperature"] == start["temperature"] and now["context"][FAT] > 15,
            "exact": now["temperature"] == 0.3 and max(weights.values()) >= 0.9,
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        yield word(14, 28, headline(facts["weights"]), 15, anchor="start", bold=True)
        yield word(34, 54, "what you ask for, and the keys", 12, "soft", "start")
        yield word(352, 54, "the values (without protein), and what you get", 12, "soft", "start")
        yield from draw_keys(facts)
        yield from draw_values(facts)
        yield word(BARS - 66, 92, "attention weights", 12, "soft", "start")
        yield side_bars(BARS, 100, DISHES, facts["weights"], width=58, fill="calm", own=DISHES)
        for row, (name, grams) in enumerate(zip(NUTRIENTS, facts["context"], strict=True)):
            yield word(BARS - 7, 268 + 20 * row, name, 13, "ink", "end")
            yield word(BARS, 268 + 20 * row, f"{fixed(float(grams), 1)} g", 13, "value", "start", bold=True)
        yield word(BARS - 66, 248, "context vector", 12, "soft", "start")

    @staticmethod
    def describe(facts: Facts) -> str:
        weights = ", ".join(f"{dish} {fixed(w, 2)}" for dish, w in zip(DISHES, facts["weights"], strict=True))
        context = ", ".join(
            f"{name} {fixed(g, 1)} g" for name, g in zip(NUTRIENTS, facts["context"], strict=True)
        )
        sweet, crunchy = facts["query"]
        return (
            f"Query: sweet {fixed(sweet, 2)}, crunchy {fixed(crunchy, 2)}; "
            f"temperature {facts['temperature']:g}. Attention weights: {weights}. Context vector: {context}."
        )
