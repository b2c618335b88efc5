"""The facts that the explorables of lesson 11 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.layers.positions import sinusoids
from lessons.l11_positions import clock_hands
from tests.explore.stops import meeting

RIGHT = clock_hands.TABLES[0]


def test_the_table_is_that_of_the_library_and_only_the_offset_counts():
    made = clock_hands.made(RIGHT)
    assert torch.allclose(torch.from_numpy(made[20:160].astype(np.float32)), sinusoids(140, 64), atol=2e-5)
    products = made @ made.T
    assert all(np.ptp(products.diagonal(offset)) < 1e-12 * 64 for offset in range(0, 100, 7))
    for start, k in ((0, 3), (50, 11)):  # PE(pos + k) = R_k PE(pos), for every hand
        kappa = clock_hands.SPEEDS * k
        (sin, cos), there = clock_hands.row(RIGHT, start).reshape(-1, 2).T, clock_hands.row(RIGHT, start + k)
        assert there[0::2] == pytest.approx(sin * np.cos(kappa) + cos * np.sin(kappa))
        assert there[1::2] == pytest.approx(cos * np.cos(kappa) - sin * np.sin(kappa))


def test_the_wrong_tables_are_wrong_in_their_own_ways():
    here, there = (
        clock_hands.compute(position=at, offset=5, table="sin only")["product"] for at in (10, 110)
    )
    assert abs(here - there) > 4, "sines alone depend on the place"
    alike = clock_hands.made("row 0 for all")
    assert (alike == clock_hands.row(RIGHT, 0)).all(), "cut by the batch: one row for all words"


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    (lambda: clock_hands.compute(position=10, offset=5, table=RIGHT)["product"], 23.50, 0.005),
    (lambda: clock_hands.compute(position=110, offset=5, table=RIGHT)["product"], 23.50, 0.005),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)


def test_the_settings_that_reach_each_goal():
    assert meeting(clock_hands.ClockHands, "three-quarters", offset=range(21)) == [4]
    assert meeting(clock_hands.ClockHands, "comes-round", offset=range(21)) == [19]
