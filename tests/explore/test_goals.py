"""A goal is reached exactly where its words say: each number in them, against the facts around that number.

A limit reads the number and the comparison from the goal's words, takes the facts of a setting that reaches
the goal, and moves one of them across the number.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import pytest

from course_lib.explore.base import Explorable, Facts
from lessons.l07_score_functions.score_zoo import SCORES
from lessons.l08_query_key_value.soft_dictionary import FAT
from lessons.l08_query_key_value.who_attends import N_WORDS
from lessons.l11_positions.clock_hands import SINE_ONLY, row
from tests.explore.settings import KINDS, goal_settings

pytestmark = pytest.mark.slow  # it searches the settings of every explorable

COMPARISONS = {
    "above|[Oo]ver|[Mm]ore than": operator.gt,
    "below|under|less than|narrower than": operator.lt,
    "or more": operator.ge,
    "at most|or less|within": operator.le,
}
NUMBERS = {
    "half": 0.5, "½": 0.5, "¾": 0.75, "tenth": 0.1, "eighth": 0.125, "four fifths": 0.8, "1 in 1,000": 0.001,
    "one millionth": 1e-6, "a million": 1e6, "one": 1, "single": 1, "every": 1, "No": 0, "Two": 2, "three": 3,
    "five": 5, "ten": 10,
}  # fmt: skip
NUMBER = re.compile(rf"\b({'|'.join(NUMBERS)})\b|\d[\d,]*(\.\d+)?%?")

Change = str | tuple | Callable[[Facts, Any], Facts]


class Limit(NamedTuple):
    """`change` is a fact, a path into one, or a function that sets the number to a value.

    The comparison and the number are those of the words, unless given.
    """

    goal: str
    words: str
    change: Change
    comparison: Callable[[Any, Any], bool] | None = None
    number: float | Callable[[Facts, Facts], float] | None = None


def within(change: Change, goal: str, words: str, low: float, high: float) -> list[Limit]:
    return [Limit(goal, words, change, operator.gt, low), Limit(goal, words, change, operator.lt, high)]


def relative(change: Change, goal: str, words: str, number: float, *, tolerance: float, to: str) -> list:
    """A fact that is `number` times the initial one of that name, within the tolerance."""
    low, high = number - tolerance, number + tolerance
    return [
        Limit(goal, words, change, operator.gt, lambda now, start: low * start[to]),
        Limit(goal, words, change, operator.lt, lambda now, start: high * start[to]),
    ]


def largest(name: str) -> Callable[[Facts, float], Facts]:
    """Give a score function's largest weight a value."""

    def change(facts: Facts, value: float) -> Facts:
        weights = np.minimum(facts["weights"], value / 2)
        for index, score in enumerate(SCORES):
            weights[index, 0] = value if score == name else facts["weights"][index].max()
        return facts | {"weights": weights}

    return change


def set_sums(facts: Facts, value: float) -> Facts:
    return facts | {"sums": np.full_like(facts["sums"], value)}


def ablate(facts: Facts, count: int) -> Facts:
    return facts | {"off": ["head"] * count}


def close(facts: Facts, count: int) -> Facts:
    return facts | {"closed_words": ["word"] * count}


def sine_only(now: Facts, start: Facts) -> float:
    """4 above the dot product at the initial position."""
    here = row(SINE_ONLY, start["position"]) @ row(SINE_ONLY, start["position"] + now["distance"])
    return float(here) + 4


COUNTS = (ablate, close)
LIMITS = {
    "AttentionLines": [],
    "SoftmaxDial": [Limit("sure", "above 0.9", ("probabilities", 0))],
    "WordByWord": [
        Limit("ends", "temperature 1", "temperature"),
        Limit("sure", "temperature 1", "temperature"),
        Limit("sure", "above 0.99", ("probabilities", 0)),
        Limit("rash", "below 0.001", "last_probability"),
    ],
    "GradientTelephone": [
        Limit("steady", "100 steps", "steps"),
        Limit("steady", "between ½", "arrives", operator.gt),
        Limit("steady", "and 2", "arrives", operator.lt),
        Limit("explodes", "above 1000", "arrives"),
        Limit("explodes", "within 40 steps", "steps"),
        Limit("silent", "below one millionth", "arrives"),
        Limit("silent", "within 8 steps", "steps"),
    ],
    "GateMixer": [
        Limit("keep", "20 steps", "half_life", operator.gt),
        Limit("carry", "more than a tenth", "remaining"),
        Limit("carry", "100 steps", "steps"),
        Limit("drown", "20 steps", "half_life", operator.gt),
        Limit("drown", "below 0", ("cell", -1)),
    ],
    "PathRace": [
        Limit("far-in-four", "512 words", "n"),
        Limit("far-in-four", "at most 4", ("hops", "dilated")),
        Limit("wide-enough", "128 words", "n"),
        Limit("wide-enough", "at most 16", ("hops", "convolution")),
    ],
    "AttentionEmerges": [
        Limit("aligned", "below 0.5", "error_now"),
        Limit("crossed", "more than half", "flower_and_white"),
        Limit("article", "more than half", "la_to_mother"),
    ],
    "AttentionStepper": [
        Limit("unsure", "half", lambda facts, v: facts | {"weights": np.array([v, 0.0])}, operator.lt),
    ],
    "ScoreZoo": [
        Limit("long", "above 0.9", largest("dot")),
        Limit("long", "below 0.6", largest("cosine"), operator.lt),
    ],
    "WindowLab": [
        Limit("elsewhere", "8 or more", "missed"),
        Limit("narrowest", "× 1", "times"),
        Limit("undecided", "D = 20", "half_width"),
    ],
    "SaturationLab": [
        Limit("lose-90", "10% or less", "gradient", operator.le, lambda now, start: 0.1 * start["gradient"]),
        Limit("too-flat", "below 0.14", "mean_max"),
        Limit("spared", "d_k = 512", "d_k"),
        Limit("spared", "below 0.8", lambda facts, v: facts | {"weights": np.array([v, 0.0])}),
    ],
    "SoftDictionary": [
        *within(("context", FAT), "fat-by-values", "About 15 g", 14.75, 15.25),
        *within(("context", FAT), "fat-by-weights", "About 10 g", 9.75, 10.25),
    ],
    "WhoAttends": [
        Limit("others-win", "most words", "on_diagonal", operator.lt, N_WORDS / 2),
        Limit("by-luck", "half", "on_diagonal", operator.ge, N_WORDS / 2),
    ],
    "CloseAWord": [
        Limit("idle", "less than 0.05", "change"),
        Limit("quiet", "under 0.05", "weight_before"),
        Limit("quiet", "over 0.3", "change"),
    ],
    "MaskPainter": [
        Limit("quiet-leak", "sums to 1", set_sums),
        Limit("quiet-leak", "some attention", "hidden_weight", operator.gt, 0),
        Limit("lost", "more than four fifths", set_sums, operator.lt, 0.2),
    ],
    "ClockHands": [
        Limit("three-quarters", "below ¾", "product", None, lambda now, start: 0.75 * now["norm"] ** 2),
        Limit("comes-round", "within 0.2 radians", "fastest_angle", operator.lt, 0.2),
        Limit("moves", "over 4", "product", None, sine_only),
    ],
    "HeadSwitches": [
        Limit("one-breaks", "single", ablate),
        Limit("ten-off", "ten or more", ablate),
    ],
    "LossFloor": [
        Limit("above-one", "ε = 0.1", "smoothing"),
        Limit("above-one", "above 1", "floor"),
        Limit("below-one", "37,000 words", "words"),
        Limit("below-one", "below 1", "floor"),
        Limit("stuck", "No smoothing", "smoothing"),
        Limit("stuck", "above 8", "floor"),
    ],
    "BeamTree": [Limit("nothing", "α = 0", "alpha"), Limit("back", "k = 5", "width")],
    "LiveTranslator": [
        Limit("one", "one word", close),
        Limit("one", "exactly one", "changed"),
        Limit("unsure", "0.6", ("probabilities", 0), operator.lt),
    ],
    "CostExplorer": [
        Limit("half", "half", "fraction"),
        Limit("half", "narrower than 512", "d"),
        Limit("dearer", "d = 1024", "d"),
        Limit("dearer", "under 25%", "fraction"),
        Limit("tables", "10 times", "table_bytes", operator.ge, lambda now, start: 10 * now["words_bytes"]),
        Limit("tables", "under 15%", "fraction"),
    ],
    "Leaderboard": [Limit("crowded", "three or more", "undecided")],
}


def number_in(words: str) -> float:
    text = NUMBER.search(words).group()
    if text in NUMBERS:
        return NUMBERS[text]
    number = float(text.rstrip("%").replace(",", ""))
    return number / 100 if text.endswith("%") else number


def comparison_in(words: str) -> Callable[[Any, Any], bool]:
    """Without a word for one, a goal asks for exactly this number."""
    found = [compare for pattern, compare in COMPARISONS.items() if re.search(pattern, words)]
    return found[0] if found else lambda value, number: abs(value - number) < 1e-6


def changed(facts: Facts, change: Change, value: float) -> Facts:
    if callable(change):
        return change(facts, value)
    facts, path = deepcopy(facts), (change,) if isinstance(change, str) else change
    part = facts
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return facts


def facts_reaching(kind: type[Explorable], goal: str) -> Facts:
    setting = goal_settings(kind)[goal]
    values = [control.values[index] for control, index in zip(kind.controls, setting, strict=True)]
    return kind.facts_at(dict(zip(kind.start, values, strict=True)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_goal_is_reached_from_the_number_in_its_words_on(kind):
    start = kind.facts_at(kind.start)
    controls = {control.name: control.values for control in kind.controls}
    for limit in LIMITS[kind.__name__]:
        assert limit.words.lower() in kind.goals[limit.goal].lower()
        now = facts_reaching(kind, limit.goal)
        compare, number = limit.comparison or comparison_in(limit.words), limit.number
        if number is None:
            number = number_in(limit.words)
        elif callable(number):
            number = number(now, start)
        step = 1 if limit.change in COUNTS else 1e-3 * (abs(number) or 1)
        values = controls.get(limit.change, [number - step, number, number + step])
        if callable(limit.number):  # the number itself may be rounded
            values.remove(number)
        expected = {value: bool(compare(value, number)) for value in values}
        assert set(expected.values()) == {False, True}, limit
        met = {v: kind.goals_met(changed(now, limit.change, v), start)[limit.goal] for v in values}
        assert met == expected, limit


def test_every_goal_with_a_number_has_its_limits():
    goals = {(kind.__name__, goal): text for kind in KINDS for goal, text in kind.goals.items()}
    limited = {(name, limit.goal) for name, limits in LIMITS.items() for limit in limits}
    assert len(KINDS) == 22 and limited <= goals.keys()
    for goal, text in goals.items():
        assert goal in limited or not re.search(r"[\d½¾]|half|million|fifth|tenth", text), f"{goal}: {text}"
