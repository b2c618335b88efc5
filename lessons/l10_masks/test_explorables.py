"""What the explorable of lesson 10 computes, and what its question claims about it."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from course_lib.explore.base import Facts
from course_lib.text.special import EOS
from course_lib.translation.shipped import shared
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
from tests.explore.limits import Limit
from tests.explore.settings import open_question


def set_sums(facts: Facts, value: float) -> Facts:
    return facts | {"sums": np.full_like(facts["sums"], value)}


LIMITS = {
    "MaskPainter": [
        Limit("quiet-leak", "sums to 1", set_sums),
        Limit("quiet-leak", "some attention", "hidden_weight", operator.gt, 0),
        Limit("lost", "more than four fifths", set_sums, operator.lt, 0.2),
    ],
}


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
    for word in ("le", "l'"):  # most visible scores are negative, so their weights are below a masked word's
        row = mask_painter.LABELS.index(word)
        visible = after["visible"][row]
        masked_weight = after["weights"][row][~visible].min()
        assert np.median(after["scores"][row][visible]) < 0
        assert (after["weights"][row][visible] < masked_weight).mean() > 0.5


def test_the_masks_hide_columns_and_the_scores_are_those_of_a_trained_model():
    masks, scores = mask_painter.masks(), mask_painter.model_scores()
    assert masks[CAUSAL].sum() == 55 and (masks[BOTH] == (masks[PADDING] & masks[CAUSAL])).all()
    assert masks[PADDING][:, :7].all() and not masks[PADDING][:, 7:].any()
    model = shared("transformer_lm").model
    x = model.positions.add(model.words.target(mask_painter.padded_sentence()[None]))
    weights = model.stack(x, rotate=model.positions.rotate, with_weights=True)[2]["own"][0, 0]
    assert mask_painter.softmax(scores) == pytest.approx(weights.detach().numpy(), abs=1e-5)


def test_the_predictions_are_those_of_the_model_if_the_mask_is_applied_correctly():
    shipped = shared("transformer_lm")
    ids = torch.tensor(mask_painter.sentence())
    with torch.no_grad():
        logits = shipped.model.say(ids[None], with_weights=False)[0][0]
    expected = logits.softmax(-1)[torch.arange(7), torch.tensor([*ids[1:].tolist(), EOS])]
    for method in (BEFORE, RENORMED):
        found = mask_painter.compute(mask=CAUSAL, method=method, head=0)["next_word"]
        assert found == pytest.approx(expected.numpy(), abs=1e-4)
    assert "attend" not in vars(shipped.model.stack.blocks[0].attention)  # the model is as it was


def test_one_fully_masked_row_turns_every_prediction_into_nan():
    for method in (BEFORE, RENORMED):
        assert np.isnan(mask_painter.next_word(BLIND, method)).all()
    assert mask_painter.LABELS[4] == "bu" and not mask_painter.masks()[BLIND][4].any()


def test_without_a_mask_the_model_does_much_worse_on_the_sentence():
    none, causal = (mask_painter.compute(mask=mask, method=BEFORE, head=0) for mask in (NONE, CAUSAL))
    assert none["perplexity"] > 3 * causal["perplexity"]


@pytest.mark.parametrize("draw", [mask_painter.draw_scores, mask_painter.draw_weights])
def test_the_strokes_are_in_the_masked_cells(draw):
    """With a causal mask they are above the diagonal, where the key comes after the query."""
    axes = Figure().add_subplot()
    draw(axes)(mask_painter.compute(mask=CAUSAL, method=AFTER, head=0))
    [strokes] = [part for part in axes.collections if isinstance(part, LineCollection)]
    cells = {tuple(np.mean(ends, axis=0).astype(int)) for ends in strokes.get_segments()}  # column, row
    assert cells == {(key, query) for query in range(10) for key in range(query + 1, 10)}
