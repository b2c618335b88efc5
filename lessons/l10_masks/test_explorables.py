"""The facts that the explorables of lesson 10 show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lessons.l10_masks import mask_painter
from lessons.l10_masks.mask_painter import AFTER, BEFORE, BLIND, BOTH, CAUSAL, PADDING, RENORMED, TIMES_0


@pytest.mark.parametrize(
    ("method", "weights"),
    [
        (BEFORE, [0.5, 0.5, 0, 0]),
        (TIMES_0, [0.25, 0.25, 0.25, 0.25]),
        (AFTER, [0.25, 0.25, 0, 0]),
        (RENORMED, [0.5, 0.5, 0, 0]),
    ],
)
def test_four_equal_scores_two_of_them_hidden(method, weights):
    half = np.array([[True, True, False, False]])
    assert mask_painter.apply(np.zeros((1, 4)), half, method)[0][0] == pytest.approx(weights)


def test_dividing_by_the_sum_is_as_good_as_minus_infinity_unless_a_row_is_blind():
    for mask, head in itertools.product((mask_painter.NONE, PADDING, CAUSAL, BOTH), (1, 2, 3, 4)):
        right, again = (mask_painter.compute(mask=mask, method=m, head=head) for m in (BEFORE, RENORMED))
        assert again["weights"] == pytest.approx(right["weights"], abs=1e-9)
        assert right["sums"] == pytest.approx(np.ones(10)) and right["hidden_share"] == 0
        assert not right["broken"].any()
    for method in (BEFORE, RENORMED):
        blind = mask_painter.compute(mask=BLIND, method=method, head=1)
        assert np.flatnonzero(blind["broken"]).tolist() == [4]


def test_what_the_masks_hide_and_whose_scores_they_are():
    masks, scores = mask_painter.masks(), mask_painter.scores()
    assert masks[CAUSAL].sum() == 55 and (masks[BOTH] == (masks[PADDING] & masks[CAUSAL])).all()
    assert masks[PADDING][:, :7].all() and not masks[PADDING][:, 7:].any(), "columns only"
    assert scores.mean(axis=-1) == pytest.approx(np.zeros((4, 10)), abs=1e-5)
    assert scores.std() > 0.5, "it has learned something"
