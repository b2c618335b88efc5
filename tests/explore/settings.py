"""Settings of an explorable's controls, and the shortest way to a goal.

A setting is a tuple with one index per control, into the values of that control.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from course_lib.explore.base import Explorable
from course_lib.explore.raster.base import RasterExplorable
from course_lib.teaching.questions.question import questions
from tools.bench.explorables import explorables

KINDS = list(explorables().values())
RASTER = [kind for kind in KINDS if issubclass(kind, RasterExplorable)]
DRAWN = [kind for kind in KINDS if kind not in RASTER]  # as SVG


def tables_of_lessons(name: str) -> dict[str, Any]:
    """What the lessons' test_explorables.py say in tables of this name, by explorable."""
    merged: dict[str, Any] = {}
    for package in dict.fromkeys(kind.__module__.rpartition(".")[0] for kind in KINDS):
        if find_spec(f"{package}.test_explorables"):
            merged |= getattr(import_module(f"{package}.test_explorables"), name, {})
    return merged


def start_setting(kind: type[Explorable]) -> tuple[int, ...]:
    starts = zip(kind.controls, kind.start.values(), strict=True)
    return tuple(_nearest(list(control.values), value) for control, value in starts)


@cache
def goal_settings(kind: type[Explorable]) -> dict[str, tuple[int, ...]]:
    """For each goal that can be reached, the setting that moves the fewest controls by the fewest steps."""
    settings, start_facts, first = {}, kind.facts_at(kind.start), start_setting(kind)

    def effort(setting: tuple[int, ...]) -> tuple[int, int]:
        steps = [abs(a - b) for a, b in zip(setting, first, strict=True)]
        return sum(map(bool, steps)), sum(steps)

    for setting in sorted(product(*(range(len(control.values)) for control in kind.controls)), key=effort):
        values = [control.values[index] for control, index in zip(kind.controls, setting, strict=True)]
        facts = kind.facts_at(dict(zip(kind.start, values, strict=True)))
        for goal, met in kind.goals_met(facts, start_facts).items():
            if met:
                settings.setdefault(goal, setting)
        if len(settings) == len(kind.goals):
            break
    return settings


def _nearest(values: list, value: object) -> int:
    """The index of a value, or of the number nearest to it."""
    if value in values:
        return values.index(value)
    return min(range(len(values)), key=lambda i: np.abs(np.subtract(values[i], value)).sum())


def values_reaching(kind: type[Explorable], goal: str, **state) -> list:
    """Which of the last control's values meet a goal; other controls are as given, or at the start."""
    (name, values), fixed = state.popitem(), {**kind.start, **state}
    start_facts = kind.facts_at(kind.start)
    return [v for v in values if kind.goals_met(kind.facts_at({**fixed, name: v}), start_facts)[goal]]


def open_question(lesson: str, name: str, kind: type[Explorable]) -> tuple:
    """A question, the text of its right option, the facts at the start and those of its preset."""
    question, explorable = questions(lesson)[name], kind()
    before = explorable.facts
    explorable.preset(question.preset)
    right = question.options[question.right[0]].text if question.options else ""
    return question, right, before, explorable.facts
