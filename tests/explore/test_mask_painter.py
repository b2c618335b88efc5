"""W11: what each way of masking does, and what the masks hide."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.explore.mask_painter import (
    AFTER,
    BEFORE,
    BLIND,
    BOTH,
    CAUSAL,
    N_HEADS,
    N_REAL,
    NONE,
    PADDING,
    RENORMED,
    TIMES_0,
    N,
    apply,
    compute,
    masks,
    scores,
)  # fmt: skip

HALF = np.array([[True, True, False, False]])


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
    assert apply(np.zeros((1, 4)), HALF, method)[0][0] == pytest.approx(weights)


@pytest.mark.parametrize("mask", [NONE, PADDING, CAUSAL, BOTH])
@pytest.mark.parametrize("head", range(1, N_HEADS + 1))
def test_dividing_by_the_sum_is_as_good_as_minus_infinity_for_ordinary_scores(mask, head):
    right = compute(mask=mask, method=BEFORE, head=head)
    again = compute(mask=mask, method=RENORMED, head=head)
    assert again["weights"] == pytest.approx(right["weights"], abs=1e-9)
    assert right["sums"] == pytest.approx(np.ones(N)) and right["hidden_share"] == 0
    assert not right["broken"].any()


def test_a_blind_row_is_no_number():
    for method in (BEFORE, RENORMED):
        broken = compute(mask=BLIND, method=method, head=1)["broken"]
        assert np.flatnonzero(broken).tolist() == [4]


def test_what_the_masks_hide():
    assert masks()[CAUSAL].sum() == N * (N + 1) // 2 == 55
    assert masks()[PADDING][:, :N_REAL].all() and not masks()[PADDING][:, N_REAL:].any()  # columns only
    assert (masks()[BOTH] == (masks()[PADDING] & masks()[CAUSAL])).all()


def test_the_scores_are_those_of_the_trained_model():
    assert scores().shape == (N_HEADS, N, N)
    assert scores().mean(axis=-1) == pytest.approx(np.zeros((N_HEADS, N)), abs=1e-5)
    assert scores().std() > 0.5  # it has learned something
