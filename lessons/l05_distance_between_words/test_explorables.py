"""The path-length racetrack counts hops correctly, and the drawing of a stack connects the right words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lessons.l05_distance_between_words import path_race, stack_drawing
from tests.explore.limits import Limit
from tests.explore.settings import open_question

LIMITS = {
    "PathRace": [
        Limit("far-in-four", "512 words", "n"),
        Limit("far-in-four", "at most 4", ("hops", "dilated")),
        Limit("wide-enough", "128 words", "n"),
        Limit("wide-enough", "at most 16", ("hops", "convolution")),
    ],
}


def receptive_field(width: int, dilations: list[int]) -> int:
    return 1 + sum((width - 1) * dilation for dilation in dilations)


@pytest.mark.parametrize("n", path_race.LENGTHS)
@pytest.mark.parametrize("width", path_race.WIDTHS)
@pytest.mark.parametrize("name", ["convolution", "dilated"])
def test_the_hops_are_the_layers_of_the_smallest_stack_that_covers_the_sentence(n, width, name):
    jumps, hops = path_race.jumps(n, width, name == "dilated"), path_race.hops(n, width)
    assert hops["recurrent"] == n - 1 == sum(jumps) and hops[name] == len(jumps)
    dilations = [width**layer if name == "dilated" else 1 for layer in range(len(jumps))]
    for jump, dilation in zip(jumps, dilations, strict=True):
        assert jump <= (width - 1) * dilation and jump % dilation == 0
    assert receptive_field(width, dilations[:-1]) < n <= receptive_field(width, dilations)


def test_hops_and_sequential_steps_and_arcs_lead_to_the_last_word():
    facts = path_race.compute(n=64, width=3)
    assert facts["hops"] == {"recurrent": 63, "convolution": 32, "dilated": 4}
    assert facts["sequential_steps"] == facts["hops"] | {"recurrent": 64}
    x, y = path_race.arcs([1, 3, 0, 27], 32, 1.0)
    assert x[0] == pytest.approx(0) and x[~np.isnan(x)][-1] == pytest.approx(1) and np.nanmin(y) >= 1 - 1e-9


def test_the_hops_at_32_words_are_those_of_the_right_option():
    _, right, before, after = open_question("05", "hops-at-32", path_race.PathRace)
    assert before["n"] != 32 and before["width"] != 3, "the start doesn't reveal the answer"
    assert (after["n"], after["width"]) == (32, 3)
    assert [int(number) for number in re.findall(r"\d+", right)] == list(after["hops"].values())


def test_the_drawing_shows_the_words_that_influence_the_last_output():
    assert stack_drawing.connected_positions([1, 1], 9, 3)[0] == {4, 5, 6, 7, 8}
    assert stack_drawing.connected_positions([1, 3], 9, 3)[0] == set(range(9))
    assert "5 of 9 words" in stack_drawing.draw_stacks({"a": [1, 1], "b": [1, 3]}, n_words=9).alt
