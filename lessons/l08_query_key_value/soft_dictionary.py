"""The soft dictionary: a lookup on a menu that returns a weighted sum over all dishes.

    >>> compute(query=(3.0, 3.0), cream=10)["weights"].round(2)    # aimed at the apple, it gets the waffle
    array([0.95, 0.05, 0.  , 0.  , 0.  ])

The query describes what you would like to eat: sweet or savoury, crunchy or soft. The key of a dish says what
it is, and its value how much sugar, protein and fat it has. The picture shows sugar and fat as a plane of
their own, in which the context vector is a point: it never leaves the polygon of the values. The apple's key
is inside the polygon of the other keys, so its score is a mean of theirs: it never gets the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Point
from course_lib.formatting import fixed
from course_lib.views.picture import Picture
from course_lib.views.plane import Plane
from course_lib.views.shapes import side_bars
from course_lib.views.svg import belongs, dot, group, line, number, tag, width_of, word
from lessons.l00_start_here.softmax_dial import softmax
from lessons.l08_query_key_value.theirs import outputs_of

DISHES = ("waffle", "apple", "ice cream", "nachos", "soup")
NUTRIENTS = ("sugar", "protein", "fat")
QUERY = (1.0, 0.0)  # something sweet
KEYS = np.array([[2.0, 1.0], [1.0, 1.0], [3.0, -2.0], [-2.0, 3.0], [-2.0, -3.0]])  # sweet, crunchy
GRAMS = [[20.0, 7.0, 10.0], [19.0, 0.0, 0.0], [28.0, 5.0, 14.0], [2.0, 6.0, 24.0], [4.0, 9.0, 5.0]]
VALUES = np.array(GRAMS)
WAFFLE, SUGAR, FAT = 0, 0, 2
CREAM = {10: "plain", 30: "triple cream"}  # grams of fat of the waffle

TASTES = Plane(34, 84, 256, 256, (-4, 4), (-4, 4))
GRAM_PLANE = Plane(352, 78, 228, 262, (0, 32), (0, 36))
AXES = {"sweet": (3.5, -0.4), "savoury": (-3.3, 0.15), "crunchy": (0.9, 3.75), "soft": (0.5, -3.94)}
WAYS = (0, -17), (0, 28), (46, 4), (-46, 4), (46, 20), (-46, 20), (46, -12), (-46, -12), (0, 42), (0, -32)
TICKS = {0: "0", 10: "10", 20: "20", 30: "30"}
SCALES = [(GRAM_PLANE.at(gram, 0)[0], 352.0, 9.0, 6.0) for gram in TICKS]  # where their numbers are
SCALES += [(337.0, GRAM_PLANE.at(0, gram)[1], 10.0, 6.0) for gram in TICKS]
BESIDE = {"ice cream": ((48, 4),), "soup": ((-19, 21),)}  # where the ring doesn't come
ABOVE = {"halo": "paper", "pointer_events": "none"}  # labels over what is dragged
Pair = tuple[float, float]
Box = tuple[float, float, float, float]  # the middle, and half the width and the height
BARS = 664  # where the bars of the attention weights start


def look_up(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weighted sum of the values, and the attention weights: softmax(keys · query)."""
    weights = softmax(keys @ query)
    return weights @ values, weights


def compute(*, query: tuple[float, float], cream: int) -> Facts:
    values = VALUES.copy()
    values[WAFFLE, FAT] = cream
    context, weights = look_up(np.array(query), KEYS, values)
    return {"keys": KEYS, "weights": weights, "values": values, "context": context}


def drawn_with(function: Callable, query: Pair = QUERY) -> Picture:
    """The menu with the context vector and the attention weights that a learner's function returns."""
    facts = SoftDictionary.facts_at(SoftDictionary.start | {"query": query})
    found, problem = outputs_of(function, query, KEYS, VALUES, shapes=((3,), (len(KEYS),)))
    if not problem:
        return SoftDictionary.picture_of(facts | dict(zip(("context", "weights"), found, strict=True)))
    said = f"Your soft_lookup {problem}"
    nothing = facts | {"weights": np.zeros(len(KEYS)), "context": None, "problem": said}
    return Picture(
        *SoftDictionary.size, *SoftDictionary.draw(nothing), alt=f"Five keys and five values. {said}."
    )


def draw_keys(facts: Facts) -> Iterable[str]:
    """The keys as points, and the query as an arrow that can be taken hold of."""
    plane, (x, y) = TASTES, TASTES.at(*facts["query"])
    yield plane.cross() + outline([plane.at(*key) for key in KEYS], "key")
    axes, labels = {text: plane.at(*place) for text, place in AXES.items()}, ""
    yield "".join(word(*place, text, 11, "soft") for text, place in axes.items())
    taken = [*SCALES, *(around(text, *place, 11) for text, place in axes.items())]
    for dish, key, weight in zip(DISHES, KEYS, facts["weights"], strict=True):
        (across, down), radius = plane.at(*key), 4 + 12 * min(1.0, abs(float(weight))) ** 0.5
        own = belongs(dish, tip=tip(dish, weight))
        label = (across, down + radius + 15) if key[1] < 0 else (across, down - radius - 6)
        label = (across + 41, down + 4) if dish == "waffle" else label  # under it is the name of an axis
        taken += [around(dish, *label), (across, down, radius, radius)]
        yield group(dot(across, down, radius, "key", "paper", 1, fill_opacity="0.85"), **own)
        labels += group(word(*label, dish, 13, "key", **ABOVE), class_="word", **own)
    yield plane.arrow(*facts["query"], "query", 2.5, data_end="query")
    yield plane.handle("query", facts["query"], 0.1, label="query: sweet, crunchy")
    by = freest("query", (x, y), WAYS, taken)
    moving = {"data_follows": "query", "data_by": f"{by[0]} {by[1]}"}
    yield labels + word(x + by[0], y + by[1], "query", 13, "query", bold=True, **ABOVE, **moving)


def around(text: str, x: float, y: float, size: float = 13) -> Box:
    """The box of a label whose middle is at x and whose baseline is at y."""
    return x, y - 0.3 * size, width_of(text, size) / 2, 0.55 * size


def gap(one: Box, other: Box) -> float:
    """The distance between two boxes, across or down; negative if they overlap."""
    return max(abs(one[0] - other[0]) - one[2] - other[2], abs(one[1] - other[1]) - one[3] - other[3])


def freest(text: str, place: Pair, ways: Sequence[Pair], taken: Sequence[Box]) -> Pair:
    """Of some ways to go from a place, the first, or else the best, that keeps a label off what is there."""

    def room(way: Pair) -> float:
        label = around(text, place[0] + way[0], place[1] + way[1])
        return min(gap(label, other) for other in taken)

    return max(ways, key=lambda way: min(0.0, room(way)))


def tip(dish: str, weight: float) -> str:
    return f"{dish}: attention weight {fixed(float(weight), 2)}"


def draw_values(facts: Facts) -> Iterable[str]:
    """The values as points, a line from each to the context vector: as thick as its weight."""
    plane, labels = GRAM_PLANE, ""
    grams = facts["values"][:, [SUGAR, FAT]]
    points = {dish: plane.at(*value) for dish, value in zip(DISHES, grams, strict=True)}
    taken = [*SCALES, *((x, y, 6.0, 6.0) for x, y in points.values())]
    yield plane.scale_x(TICKS, "grams of sugar") + plane.scale_y(TICKS, rules=False)
    yield line([(plane.left, plane.top), (plane.left, plane.top + plane.height)], "hair")
    yield word(plane.left + 6, plane.top + 9, "grams of fat", 12, "soft", "start")
    yield outline(list(points.values()), "value")
    found = facts["context"] is not None
    context = plane.at(facts["context"][SUGAR], facts["context"][FAT]) if found else (0.0, 0.0)
    ring = [(*context, 10.0, 10.0), *SCALES]
    for (dish, (x, y)), weight in zip(points.items(), facts["weights"].tolist(), strict=True):
        own, strong = belongs(dish, tip=tip(dish, weight)), {"opacity": min(0.8, 0.2 + 0.6 * abs(weight))}
        if found:
            wide = min(10.0, max(0.5, 10 * weight))
            yield line([(x, y), context], "value", wide, class_="link", **strong, **own)
        yield group(dot(x, y, 5, "value", "paper", 1), **own)
        by = freest(dish, (x, y), BESIDE.get(dish, ((0, -14), (0, 24))), ring)
        taken.append(around(dish, x + by[0], y + by[1]))
        labels += group(word(x + by[0], y + by[1], dish, 13, "value", halo="paper"), class_="word", **own)
    yield labels
    if found:
        across, down = freest("context", context, WAYS, taken)
        yield dot(*context, 8, "paper", "value", 3)
        yield word(context[0] + across, context[1] + down, "context", 13, "value", bold=True, halo="paper")


def outline(points: Sequence[Pair], fill: str) -> str:
    around = " ".join(f"{number(x)},{number(y)}" for x, y in hull(points))
    return tag("polygon", points=around, fill=f"var(--{fill})", fill_opacity="0.08", stroke="var(--hair)")


def hull(points: Sequence[Pair]) -> list[Pair]:
    """The corners of the smallest convex polygon around the points, in order (Andrew's monotone chain)."""

    def chain(ordered: Sequence[Pair]) -> list[Pair]:
        kept: list[Pair] = []
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
    best, second = (DISHES[i] for i in weights.argsort()[:-3:-1])
    largest, next_largest = np.sort(weights)[:-3:-1]
    if largest < 1.3 * weights.min():
        return "All dishes count about equally: the lookup returns nearly their average"
    if largest >= 0.9:
        return f"Nearly all the attention goes to *{best}*: this is almost an exact lookup"
    if largest - next_largest < 0.05:
        return f"*{best}* and *{second}* get about the same attention"
    return f"The highest score with this query is that of *{best}*: its value counts most"


class SoftDictionary(Explorable):
    title = "Soft dictionary: a larger menu"
    question = "Take hold of the query. What does the lookup return?"
    size = (760, 386)
    query = Point("query", TASTES, QUERY, step=0.1)
    cream = Choice("waffle's value", tuple(CREAM), 10, text=CREAM.__getitem__, buttons=True)
    main_control = "cream"
    presets = {
        "aimed at the apple": {"query": (3.0, 3.0)},
        "triple cream": {"cream": 30},
    }
    goals = {
        "share": "Soup and nachos share at least 0.9, about equally (0.45 or more each)",
        "fat": "With the plain waffle, the context vector has more than 15 g of fat",
        "apple": "The apple gets an attention weight of 0.25 or more",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        weights = dict(zip(DISHES, now["weights"], strict=True))
        return {
            "share": min(weights["soup"], weights["nachos"]) >= 0.45,
            "fat": now["cream"] == start["cream"] and now["context"][FAT] > 15,
            "apple": weights["apple"] >= 0.25,
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        said = facts.get("problem") or headline(facts["weights"])
        yield word(14, 28, said, 15, anchor="start", bold=True)
        yield word(34, 54, "what you ask for, and the keys", 12, "soft", "start")
        yield word(352, 54, "the values (without protein), and what you get", 12, "soft", "start")
        yield from draw_keys(facts)
        yield from draw_values(facts)
        if facts["context"] is None:
            return
        yield word(BARS - 66, 92, "attention weights", 12, "soft", "start")
        yield side_bars(BARS, 100, DISHES, facts["weights"], width=58, fill="calm", own=DISHES)
        yield word(BARS, 230, f"sum {fixed(float(facts['weights'].sum()), 2)}", 12, "soft", "start")
        for row, (name, grams) in enumerate(zip(NUTRIENTS, facts["context"], strict=True)):
            yield word(BARS - 7, 282 + 20 * row, name, 13, "ink", "end")
            yield word(BARS, 282 + 20 * row, f"{fixed(float(grams), 1)} g", 13, "value", "start", bold=True)
        yield word(BARS - 66, 262, "context vector", 12, "soft", "start")

    @staticmethod
    def describe(facts: Facts) -> str:
        weights = ", ".join(f"{dish} {fixed(w, 2)}" for dish, w in zip(DISHES, facts["weights"], strict=True))
        context = ", ".join(
            f"{name} {fixed(g, 1)} g" for name, g in zip(NUTRIENTS, facts["context"], strict=True)
        )
        sweet, crunchy = facts["query"]
        return (
            f"Query: sweet {fixed(sweet, 1)}, crunchy {fixed(crunchy, 1)}. "
            f"Attention weights: {weights}. Context vector: {context}."
        )
