"""The key picture of this lesson: the shortest way from *cat* to *it* in three networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import Point, dot, line, note, word
from lessons.l05_distance_between_words.path_race import jumps

PARTS = ("",)
SENTENCE = ["the", "cat", "drank", "the", "water", "because", "it", "was", "thirsty"]
START, END = SENTENCE.index("cat"), SENTENCE.index("it")
SHAPES = {"recurrent": [], "windows": [1, 1, 1], "dilated": [1, 3]}  # the dilations of the layers


@cache
def numbers() -> dict[str, list[int]]:
    """How many words forward each hop leads, from *cat* to *it*."""
    n = END - START + 1
    return {"recurrent": [1] * (n - 1), "windows": jumps(n, 3, False), "dilated": jumps(n, 3, True)}


FIRST, APART, LEVEL = 190, 58, 30  # across: the first word, from word to word; from layer to layer
FLOORS = {"recurrent": 128, "windows": 282, "dilated": 406}  # heights of the words
NAMES = {
    "recurrent": ["recurrent network", "each state needs", "the state before"],
    "windows": ["convolutions", "each output sees its own", "place and the two before"],
    "dilated": ["dilated convolutions", "in the second layer,", "every third output"],
}


def draw(lit: str = "") -> Picture:
    """A lane for each network, with a shortest way from *cat* to *it*; there is nothing else to light."""
    hops = numbers()
    counts = [len(each) for each in hops.values()]
    lanes = "".join(_lane(name, FLOORS[name], each) for name, each in hops.items())
    headline = "From *cat* to *it*: {} hops, {} or {}".format(*counts)
    return Picture(
        WIDTH,
        432,
        word(14, 26, headline, 15, anchor="start", bold=True),
        lanes,
        alt=f"From cat to it, a recurrent network takes {counts[0]} hops, from state to state. Convolutions "
        f"of width 3 take {counts[1]}, one in each layer; with dilation 3 in the second layer, they take "
        f"{counts[2]}.",
    )


def _place(position: int, level: int, floor: float) -> Point:
    return FIRST + APART * position, floor - 20 - LEVEL * level


def _lane(name: str, floor: float, hops: Sequence[int]) -> str:
    """All connections of a network, and a way from cat to it."""
    dilations, n = SHAPES[name], len(SENTENCE)
    edges, way = [], [(START + sum(hops[:level]), level) for level in range(len(hops) + 1)]
    for level, d in enumerate(dilations):
        edges += [((t - j * d, level), (t, level + 1)) for t in range(n) for j in range(3) if t >= j * d]
    if not dilations:
        edges = [((t, 0), (t, 1)) for t in range(n)] + [((t, 1), (t + 1, 1)) for t in range(n - 1)]
        way = [(t, 1) for t in range(START, END + 1)]
    out = "".join(line([_place(*a, floor), _place(*b, floor)], "calm", 1, opacity=0.5) for a, b in edges)
    out += line([_place(*each, floor) for each in way], "accent", 3)
    for t in range(n):
        for level in range(max(1, len(dilations)) + 1):
            on = (t, level) in way
            out += dot(*_place(t, level, floor), 5 if on else 3.5, "accent" if on else "calm", None)
        ends = t in (START, END)
        out += word(FIRST + APART * t, floor, SENTENCE[t], 12, "ink" if ends else "soft", bold=ends)
    middle = floor - 20 - LEVEL * max(1, len(dilations)) / 2
    out += word(14, middle - 10, NAMES[name][0], 13, anchor="start", bold=True)
    out += note(14, middle + 7, NAMES[name][1:], 11)
    return out + word(WIDTH - 14, middle + 6, f"{len(hops)} hops", 16, "accent", "end", bold=True)
