"""The facts of the clock-hands explorable: those of the sinusoids, and of two tables that are wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore import ClockHands
from course_lib.explore.clock_hands import TABLES, angles, compute, made, row
from course_lib.layers.attention import attend
from course_lib.layers.positions import sinusoids

RIGHT = TABLES[0]


def test_the_table_is_that_of_the_library():
    ours = made(RIGHT)[20:160].astype(np.float32)
    assert torch.allclose(torch.from_numpy(ours), sinusoids(140, 64)[: len(ours)], atol=2e-5)


def test_row_0_and_row_1_are_as_by_hand():
    assert row(RIGHT, 0, 4).tolist() == [0, 1, 0, 1]
    assert row(RIGHT, 1, 4) == pytest.approx([0.8415, 0.5403, 0.01, 1.0], abs=1e-4)


def test_products_at_the_width_of_the_paper():
    products = [row(RIGHT, 7, 512) @ row(RIGHT, 7 + offset, 512) for offset in (0, 1, 2, 5)]
    assert products == pytest.approx([256, 249.1, 231.7, 189.6], abs=0.05)
    assert np.linalg.norm(row(RIGHT, 99, 512)) == pytest.approx(16)


def test_only_the_offset_counts():
    products = made(RIGHT) @ made(RIGHT).T
    for offset in range(0, 100, 7):
        assert np.ptp(products.diagonal(offset)) < 1e-12 * 64
    near, far = (compute(position=at, offset=5, table=RIGHT)["product"] for at in (10, 110))
    assert near == pytest.approx(far) and f"{near:.2f}" == "23.50"


def test_a_step_is_a_turn():
    """PE(pos + k) = R_k PE(pos), for every hand."""
    for start, k in ((0, 3), (50, 11)):
        kappa = angles(2, 64)[1] * k
        sin, cos = row(RIGHT, start)[0::2], row(RIGHT, start)[1::2]
        there = row(RIGHT, start + k)
        assert there[0::2] == pytest.approx(sin * np.cos(kappa) + cos * np.sin(kappa))
        assert there[1::2] == pytest.approx(cos * np.cos(kappa) - sin * np.sin(kappa))


def test_sines_alone_depend_on_the_place():
    here, there = (compute(position=at, offset=5, table="sin only")["product"] for at in (10, 110))
    assert abs(here - there) > 4


def test_cut_by_the_batch_all_words_of_a_sentence_get_one_row():
    table = made("row 0 for all")
    assert (table == table[0]).all() and (table[0] == row(RIGHT, 0)).all()
    assert np.ptp(compute(position=10, offset=5, table="row 0 for all")["curve"]) == 0


def test_without_positions_a_shuffle_of_words_is_a_shuffle_of_outputs():
    words = torch.randn(6, 8, generator=torch.Generator().manual_seed(0)).double()
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    plain, shuffled = (attend(x, x, x)[0] for x in (words, words[order]))
    assert torch.allclose(plain[order], shuffled, atol=1e-12)
    placed, moved = (attend(x, x, x)[0] for x in (words + sinusoids(6, 8), words[order] + sinusoids(6, 8)))
    assert not torch.allclose(placed[order], moved, atol=1e-2)


def test_goals_are_reached_by_hand_and_by_nothing_else():
    lab = ClockHands()
    for name in lab.presets:
        lab.preset(name)
    assert lab.ticked == set()
    lab.reset()
    lab.offset = 4
    lab.offset = 19
    lab.offset = 5
    lab.table = "sin only"
    lab.position = 74
    assert lab.ticked == {goal.id for goal in lab.goals}
