"""What the explorable of lesson 11 computes, and what its question claims about it."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib import theme
from course_lib.explore.base import Facts
from course_lib.layers.positions import sinusoids
from lessons.l11_positions import clock_hands
from lessons.l11_positions.clock_hands import BOTH, SINE_ONLY, ClockHands, compute, row
from tests.explore.limits import Limit
from tests.explore.settings import open_question, values_reaching


def sine_only(now: Facts, start: Facts) -> float:
    """4 above the dot product at the initial position."""
    here = row(SINE_ONLY, start["position"]) @ row(SINE_ONLY, start["position"] + now["distance"])
    return float(here) + 4


LIMITS = {
    "ClockHands": [
        Limit("three-quarters", "below ¾", "product", None, lambda now, start: 0.75 * now["norm"] ** 2),
        Limit("comes-round", "within 0.2 radians", "fastest_angle", operator.lt, 0.2),
        Limit("moves", "over 4", "product", None, sine_only),
    ],
}
DERIVED = {
    "ClockHands": lambda facts: {"other position": facts["position"] + facts["distance"]},
}


def test_the_encodings_are_those_of_the_library():
    rows = clock_hands.rows_of(BOTH)[20:160].astype(np.float32)
    assert torch.allclose(torch.from_numpy(rows), sinusoids(140, 64), atol=2e-5)


def test_the_dot_product_depends_only_on_the_distance():
    rows = clock_hands.rows_of(BOTH)
    products = rows @ rows.T
    assert all(np.ptp(products.diagonal(distance)) < 1e-12 * 64 for distance in range(0, 100, 7))
    here, later = (compute(position=position, distance=5, functions=BOTH) for position in (10, 110))
    assert here["product"] == pytest.approx(later["product"])


@pytest.mark.parametrize(("start", "distance"), [(0, 3), (50, 11)])
def test_moving_on_is_a_rotation_of_every_pair(start, distance):
    kappa = clock_hands.FREQUENCIES * distance
    sin, cos = clock_hands.row(BOTH, start).reshape(-1, 2).T
    rotated = clock_hands.row(BOTH, start + distance)
    assert rotated[0::2] == pytest.approx(sin * np.cos(kappa) + cos * np.sin(kappa))
    assert rotated[1::2] == pytest.approx(cos * np.cos(kappa) - sin * np.sin(kappa))


def test_sines_alone_also_depend_on_the_position():
    here, later = (compute(position=at, distance=5, functions=SINE_ONLY)["product"] for at in (10, 110))
    assert abs(here - later) > 4


def test_one_position_more_gives_a_slightly_larger_product():
    question, _, before, after = open_question("11", "one-word-more", ClockHands)
    assert question.right == [2]
    assert (before["position"], before["distance"], after["distance"]) == (10, 5, 6)
    assert 0 < after["product"] - before["product"] < 0.1


def test_the_settings_that_reach_each_goal():
    assert values_reaching(ClockHands, "three-quarters", distance=range(21)) == [4]
    assert values_reaching(ClockHands, "comes-round", distance=range(21)) == [19]
    moved = values_reaching(ClockHands, "moves", functions=SINE_ONLY, position=range(0, 121, 10))
    assert 10 not in moved and 110 in moved


def test_the_hands_start_at_the_top_and_turn_clockwise_at_their_frequencies():
    axes = Figure().add_subplot()
    show = clock_hands.draw_hands(axes)

    def angles() -> list[float]:
        """Of the dark hands, clockwise from the top."""
        hands = [line for line in axes.lines if line.get_color() == theme.INK]
        tips = [np.diff(line.get_xydata(), axis=0)[0] for line in hands]
        return [float(np.arctan2(x, y)) for x, y in tips]

    for position in (0, 1, 2):
        show(compute(position=position, distance=5, functions=BOTH))
        assert angles() == pytest.approx(clock_hands.FREQUENCIES[list(clock_hands.SHOWN)] * position)
