"""What the explorable of lesson 10 computes, and what its question claims about it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from lessons.l10_masks import mask_painter
from lessons.l10_masks.mask_painter import (
    AFTER,
    BEFORE,
    BLIND,
    BOTH,
    CAUSAL,
    NONE,
    PADDING,
    RENORMED,
    TIMES_0,
    MaskPainter,
)
from tests.explore.settings import open_question

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
    assert mask_painter.apply(np.zeros((1, 4)), HALF, method)[0][0] == pytest.approx(weights)


def test_dividing_by_the_sum_is_as_good_as_minus_infinity_unless_a_row_is_fully_masked():
    for mask, head in itertools.product((NONE, PADDING, CAUSAL, BOTH), range(4)):
        before, renormed = (mask_painter.compute(mask=mask, method=m, head=head) for m in (BEFORE, RENORMED))
        assert renormed["weights"] == pytest.approx(before["weights"], abs=1e-9)
        assert before["sums"] == pytest.approx(np.ones(10)) and before["hidden_weight"] == 0
        assert not before["broken"].any()
    for method in (BEFORE, RENORMED):
        blind = mask_painter.compute(mask=BLIND, method=method, head=0)
        assert np.flatnonzero(blind["broken"]).tolist() == [4]


def test_dividing_by_the_sum_fails_if_a_hidden_score_is_large():
    scores = np.array([[0.0, 0.0, 1000.0, 0.0]])
    assert np.isnan(mask_painter.apply(scores, HALF, RENORMED)[0]).any()
    assert mask_painter.apply(scores, HALF, BEFORE)[0][0] == pytest.approx([0.5, 0.5, 0, 0])


def test_times_zero_keeps_the_sums_and_gives_weight_to_hidden_words():
    question, _, _, after = open_question("10", "times-zero", MaskPainter)
    assert question.right == [1] and (after["mask"], after["method"]) == (CAUSAL, TIMES_0)
    assert after["sums"] == pytest.approx(np.ones(10)) and after["hidden_weight"] > 0.5
    visible, *hidden = after["weights"][0]  # the first word sees itself alone
    assert after["scores"][0, 0] < 0 and visible < min(hidden)


def test_the_masks_hide_columns_and_the_scores_are_those_of_a_trained_model():
    masks, scores = mask_painter.masks(), mask_painter.model_scores()
    assert masks[CAUSAL].sum() == 55 and (masks[BOTH] == (masks[PADDING] & masks[CAUSAL])).all()
    assert masks[PADDING][:, :7].all() and not masks[PADDING][:, 7:].any()
    assert scores.mean(axis=-1) == pytest.approx(np.zeros((4, 10)), abs=1e-5)
    assert scores.std() > 0.5


@pytest.mark.parametrize("draw", [mask_painter.draw_scores, mask_painter.draw_weights])
def test_the_strokes_are_in_the_masked_cells(draw):
    """With a causal mask they are above the diagonal, where the key comes after the query."""
    axes = Figure().add_subplot()
    draw(axes)(mask_painter.compute(mask=CAUSAL, method=AFTER, head=0))
    [strokes] = [part for part in axes.collections if isinstance(part, LineCollection)]
    cells = {tuple(np.mean(ends, axis=0).astype(int)) for ends in strokes.get_segments()}  # column, row
    assert cells == {(key, query) for query in range(10) for key in range(query + 1, 10)}
