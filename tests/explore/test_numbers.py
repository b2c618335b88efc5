"""The numbers in every explorable's picture are its facts.

A number's slot is its text artist, the words around it, and its rank among the numbers of that text. One
fact must explain a slot in every state: rounded to the decimals drawn, the number is the fact, an element of
it, its length, or 100 times it (a percentage). If the words before the number, or the tick label under it,
name a fact or a control, it must be that fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from course_lib.explore.base import Explorable, Facts
from course_lib.explore.raster.artists import Bars
from course_lib.explore.raster.base import Axes, Panel
from lessons.l03_lstm_and_gru import GateMixer
from tests.explore.settings import DRAWN, RASTER, tables_of_lessons

NUMBER = re.compile(r"(?<![\w.])[−-]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?")
# numbers that a picture derives from its facts, or that are constant
DERIVED = tables_of_lessons("DERIVED")


def states(kind: type[Explorable]) -> Iterator[dict[str, Any]]:
    """The start, the presets, and up to five values of each control."""
    yield kind.start
    for preset in kind.presets.values():
        yield {**kind.start, **preset}
    for control in kind.controls:
        last = len(control.values) - 1
        for index in sorted({0, last // 3, last // 2, 2 * last // 3, last}):
            yield {**kind.start, control.name: control.values[index]}


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, str):
        return [to_float(number) for number in NUMBER.findall(value)]
    if isinstance(value, dict):
        return numbers_in([list(value), list(value.values())])
    if isinstance(value, list | tuple | set | frozenset):
        return [number for element in value for number in numbers_in(element)]
    array = np.asarray(value)
    return array.ravel().astype(float).tolist() if array.dtype.kind in "fiu" else []


def explanations(facts: Facts) -> dict[str, np.ndarray]:
    """All numbers of each fact, by its name; the parts of a dictionary are facts of their own."""
    numbers = {}
    for name, value in facts.items():
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            numbers |= explanations({f"{name} {key}": part for key, part in value.items()})
        numbers[name] = np.array([number for number in numbers_in(value) if np.isfinite(number)])
        if isinstance(value, list | tuple | dict):
            numbers[f"length of {name}"] = np.array([float(len(value))])
    return numbers


def to_float(number: str) -> float:
    return float(number.replace("−", "-").replace(",", ""))


def is_rounding(number: str, values: np.ndarray) -> bool:
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    tolerance = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-12
    return bool((np.abs(np.append(values, 100 * values) - to_float(number)) <= tolerance).any())


def label_of(artist: Text, words: str) -> str:
    """The words before a number; of a number alone, the tick label under it."""
    if not words.strip() and artist.axes is not None and artist.get_transform() == artist.axes.transData:
        ticks = dict(zip(artist.axes.get_xticks(), artist.axes.get_xticklabels(), strict=False))
        if artist.get_position()[0] in ticks:
            return ticks[artist.get_position()[0]].get_text()
    return re.split(r"[·,:;(]", words)[-1].strip(" =")


def unexplained_numbers(kind: type[Explorable]) -> list[str]:
    slots: dict[tuple, tuple[set[str], str]] = {}
    figure = kind.shared_figure()
    artists = [artist for artist in figure.animated if isinstance(artist, Text)]
    control_names = {control.label: control.name for control in kind.controls}
    for state in states(kind):
        facts = kind.facts_at(state)
        figure.update(facts)
        facts |= DERIVED.get(kind.__name__, lambda facts: {})(facts)
        values = explanations(facts)
        for i, artist in enumerate(artists):
            text, end = artist.get_text(), 0
            for rank, match in enumerate(NUMBER.finditer(text)):
                label = label_of(artist, text[end : match.start()])
                end = match.end()
                named = [label, control_names.get(label), label.replace(" ", "_")]
                names = [name for name in named if name in facts][:1] or values
                explaining = {name for name in names if is_rounding(match.group(), values[name])}
                slot = (i, NUMBER.sub("#", text), rank)
                earlier, _ = slots.get(slot, (explaining, ""))
                slots[slot] = earlier & explaining, f"{match.group()} in {text!r} at {state}"
                if not slots[slot][0]:
                    return [slots[slot][1]]
    return []


@pytest.mark.parametrize("kind", RASTER, ids=lambda kind: kind.__name__)
def test_every_number_in_the_picture_is_a_fact(kind):
    assert unexplained_numbers(kind) == []


TEXTS = re.compile(r'<text(?![^>]*class="scale")[^>]*>(.*?)</text>')  # without those of a scale


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
def test_every_number_in_the_svg_is_a_fact_in_every_state(kind):
    for state in states(kind):
        facts = kind.facts_at(state)
        facts |= DERIVED.get(kind.__name__, lambda facts: {})(facts)
        values = np.concatenate([*explanations(facts).values(), [0.0]])
        texts = [text for text in TEXTS.findall("".join(kind.draw(facts))) if not text.startswith("&lt; ")]
        wrong = [text for text in texts for found in NUMBER.findall(text) if not is_rounding(found, values)]
        assert wrong == [], state


@pytest.mark.parametrize(
    ("forget", "write"),
    [
        (lambda facts: facts["forget"] + 0.1, lambda facts: facts["write"]),
        (lambda facts: facts["forget"], lambda facts: facts["write"] + 0.01),
        (lambda facts: facts["write"], lambda facts: facts["forget"]),
        (lambda facts: facts["cell"][0], lambda facts: facts["write"]),
    ],
)
def test_a_wrong_number_is_found(forget, write):
    def draw_wrong_gates(axes: Axes):
        bars = Bars(axes, ("forget", "input"))
        return lambda facts: bars.show(np.array([forget(facts), write(facts)]))

    class WrongGates(GateMixer):
        panels = (Panel("Gates", draw_wrong_gates),)

    assert unexplained_numbers(WrongGates) != []
