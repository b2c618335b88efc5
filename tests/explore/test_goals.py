"""A goal is reached exactly where its words say: each number in them, against the facts around that number.

A limit reads the number and the comparison from the goal's words, takes the facts of a setting that reaches
the goal, and moves one of them across the number.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from course_lib.explore.base import Explorable, Facts
from tests.explore.limits import Change, Limit
from tests.explore.settings import KINDS, goal_settings, tables_of_lessons

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
LIMITS: dict[str, list[Limit]] = tables_of_lessons("LIMITS")


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
    for limit in LIMITS.get(kind.__name__, []):
        assert limit.words.lower() in kind.goals[limit.goal].lower()
        now = facts_reaching(kind, limit.goal)
        compare, number = limit.comparison or comparison_in(limit.words), limit.number
        if number is None:
            number = number_in(limit.words)
        elif callable(number):
            number = number(now, start)
        step = 1 if limit.counts else 1e-3 * (abs(number) or 1)
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
    assert limited <= goals.keys()
    for goal, text in goals.items():
        assert goal in limited or not re.search(r"[\d½¾]|half|million|fifth|tenth", text), (
            f"{goal}: {text}. Add it to LIMITS in the lesson's test_explorables.py"
        )
