"""What the explorable of lesson 11 computes, and what its question claims about it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib import theme
from course_lib.layers.positions import sinusoids
from lessons.l11_positions import clock_hands
from lessons.l11_positions.clock_hands import ClockHands
from tests.explore.settings import open_question, values_reaching

RIGHT, SIN_ONLY, ROW_0 = clock_hands.TABLES


def test_the_table_is_that_of_the_library():
    rows = clock_hands.rows_of(RIGHT)[20:160].astype(np.float32)
    assert torch.allclose(torch.from_numpy(rows), sinusoids(140, 64), atol=2e-5)


def test_the_product_depends_on_the_offset_alone():
    rows = clock_hands.rows_of(RIGHT)
    products = rows @ rows.T
    assert all(np.ptp(products.diagonal(offset)) < 1e-12 * 64 for offset in range(0, 100, 7))
    here, further_on = (clock_hands.compute(position=at, offset=5, table=RIGHT) for at in (10, 110))
    assert here["product"] == pytest.approx(further_on["product"])


@pytest.mark.parametrize(("start", "offset"), [(0, 3), (50, 11)])
def test_the_row_at_an_offset_is_a_rotation_of_every_hand(start, offset):
    kappa = clock_hands.SPEEDS * offset
    sin, cos = clock_hands.row(RIGHT, start).reshape(-1, 2).T
    rotated = clock_hands.row(RIGHT, start + offset)
    assert rotated[0::2] == pytest.approx(sin * np.cos(kappa) + cos * np.sin(kappa))
    assert rotated[1::2] == pytest.approx(cos * np.cos(kappa) - sin * np.sin(kappa))


def test_sines_alone_depend_on_the_position_and_row_0_is_the_same_for_all():
    products = [clock_hands.compute(position=at, offset=5, table=SIN_ONLY)["product"] for at in (10, 110)]
    assert abs(products[0] - products[1]) > 4
    assert (clock_hands.rows_of(ROW_0) == clock_hands.row(RIGHT, 0)).all()


def test_one_word_more_gives_a_slightly_larger_product():
    question, _, before, after = open_question("11", "one-word-more", ClockHands)
    assert question.right == [2]
    assert (before["position"], before["offset"], after["offset"]) == (10, 5, 6)
    assert 0 < after["product"] - before["product"] < 0.1


def test_the_settings_that_reach_each_goal():
    assert values_reaching(ClockHands, "three-quarters", offset=range(21)) == [4]
    assert values_reaching(ClockHands, "comes-round", offset=range(21)) == [19]


def test_the_hands_start_at_the_top_and_turn_clockwise_at_their_speeds():
    axes = Figure().add_subplot()
    show = clock_hands.draw_hands(axes)

    def angles() -> list[float]:
        """Of the dark hands, clockwise from the top."""
        hands = [line for line in axes.lines if line.get_color() == theme.INK]
        tips = [np.diff(line.get_xydata(), axis=0)[0] for line in hands]
        return [float(np.arctan2(x, y)) for x, y in tips]

    for position in (0, 1, 2):
        show(clock_hands.compute(position=position, offset=5, table=RIGHT))
        assert angles() == pytest.approx(clock_hands.SPEEDS[list(clock_hands.SHOWN)] * position)
