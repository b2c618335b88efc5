"""The path-length racetrack counts rightly."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lessons.l05_distance_between_words import exercises, path_race
from tests.explore.settings import open_question


@pytest.mark.parametrize("n", path_race.LENGTHS)
@pytest.mark.parametrize("width", path_race.WIDTHS)
@pytest.mark.parametrize("gaps", ["without", "with"])
def test_the_hops_are_the_layers_of_the_smallest_stack_that_sees_the_sentence(n, width, gaps):
    jumps, hops = path_race.jumps(n, width, gaps), path_race.hops(n, width, gaps)
    assert hops == {"recurrent": n - 1, "convolution": len(jumps), "attention": 1} and sum(jumps) == n - 1
    dilations = [width**layer if gaps == "with" else 1 for layer in range(len(jumps))]
    for jump, dilation in zip(jumps, dilations, strict=True):
        assert jump <= (width - 1) * dilation and jump % dilation == 0
    *_, field_below, field = 1, 1, *exercises.receptive_fields()([width] * len(jumps), dilations)
    assert field_below < n <= field


def test_reading_and_writing_are_counted_apart_and_arcs_lead_to_the_last_word():
    facts = path_race.compute(n=64, width=3, gaps="with")
    assert facts["read_steps"] == {"recurrent": 64, "convolution": 4, "attention": 1}
    assert facts["write_steps"] == 64
    x, y = path_race.arcs([1, 3, 0, 27], 32, 1.0)
    assert x[0] == pytest.approx(0) and x[~np.isnan(x)][-1] == pytest.approx(1) and np.nanmin(y) >= 1 - 1e-9


def test_the_hops_at_32_words_are_those_of_the_right_option():
    _, right, before, after = open_question("05", "hops-at-32", path_race.PathRace)
    assert before["n"] != 32 and before["width"] != 3, "the start gives nothing away"
    assert (after["n"], after["width"], after["gaps"]) == (32, 3, "without")
    with_gaps = path_race.hops(32, 3, "with")["convolution"]
    hops = [*(after["hops"][name] for name in ("recurrent", "convolution")), with_gaps, 1]
    assert [int(number) for number in re.findall(r"\d+", right)] == hops == [31, 16, 4, 1]
