"""W4: hops from the first word to the last, asserted as the design says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from course_lib.explore import PathRace, path_race
from course_lib.explore.path_race import LENGTHS, WIDTHS, arcs, hops, jumps
from course_lib.layers.convolution import receptive_field
from course_lib.teaching.questions import questions


@pytest.mark.parametrize("n", LENGTHS)
def test_recurrent_and_attention(n):
    for width in WIDTHS:
        for gaps in ("without", "with"):
            found = hops(n, width, gaps)
            assert (found["recurrent"], found["attention"]) == (n - 1, 1)


@pytest.mark.parametrize("n", LENGTHS)
def test_convolutions_of_width_3(n):
    assert hops(n, 3, "without")["convolution"] == math.ceil((n - 1) / 2)
    assert hops(n, 3, "with")["convolution"] == math.ceil(math.log(n, 3))


def test_the_numbers_of_the_lesson():
    assert [hops(32, 3, gaps)["convolution"] for gaps in ("without", "with")] == [16, 4]
    assert hops(512, 3, "with")["convolution"] == 6


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("width", WIDTHS)
def test_so_many_layers_are_needed_and_no_fewer(n, width):
    """The hops are the layers of the smallest stack whose receptive field holds the sentence."""
    for gaps in ("without", "with"):
        layers = len(jumps(n, width, gaps))
        dilations = [width**layer if gaps == "with" else 1 for layer in range(layers)]
        assert sum(jumps(n, width, gaps)) == n - 1
        assert all(
            jump <= (width - 1) * gap and jump % gap == 0
            for jump, gap in zip(jumps(n, width, gaps), dilations, strict=True)
        )
        assert receptive_field([width] * layers, dilations) >= n
        assert receptive_field([width] * (layers - 1), dilations[:-1]) < n


def test_reading_and_writing_are_counted_apart():
    facts = path_race.compute(n=64, width=3, gaps="with")
    assert facts["read_steps"] == {"recurrent": 64, "convolution": 4, "attention": 1}
    assert facts["write_steps"] == 64


def test_arcs_lead_from_the_first_word_to_the_last():
    x, y = arcs([1, 3, 0, 27], 32, 1.0)
    assert x[0] == pytest.approx(0) and x[~np.isnan(x)][-1] == pytest.approx(1)
    assert np.nanmin(y) == pytest.approx(1.0)


def test_the_prediction_is_what_the_preset_shows():
    asked = questions("05")["hops-at-32"]
    race = PathRace()
    assert race.facts["n"] != 32 and race.facts["width"] != 3, "the start gives nothing away"
    race.preset(asked.preset)
    plain = race.facts["hops"]
    race.gaps = "with"
    told = [plain["recurrent"], plain["convolution"], race.facts["hops"]["convolution"], plain["attention"]]
    assert asked.options[asked.right[0]].text == " / ".join(map(str, told))
