"""W13: which numbers a norm averages."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore.which_mean import (
    AS_IT_IS,
    IN_USE,
    LAYER,
    LOUDER,
    PADDING,
    TRAINING,
    UNBIASED,
    WhichMean,
    batch,
    compute,
    normalised,
    words,
)
from course_lib.layers.norms import LayerNorm


def test_the_first_word_by_hand():
    after = compute(norm=LAYER, other=AS_IT_IS, word=1)["after"][0]
    assert after == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-4)
    flagged = compute(norm=UNBIASED, other=AS_IT_IS, word=1)
    assert flagged["after"][0, 3] == pytest.approx(1.1619, abs=1e-4)
    assert flagged["variance"] == pytest.approx(0.75, abs=1e-4)


@pytest.mark.parametrize("other", [LOUDER, PADDING])
def test_others_change_a_word_under_batch_norm_alone(other):
    assert compute(norm=LAYER, other=other, word=1)["moved"] == 0
    assert compute(norm=TRAINING, other=other, word=1)["moved"] > 0.5
    assert compute(norm=IN_USE, other=other, word=1)["moved"] == 0


def test_layer_norm_is_the_librarys_in_training_and_in_use():
    layer, x = LayerNorm(d_model=4), torch.from_numpy(batch(LOUDER)).float()
    told = normalised(batch(LOUDER), LAYER)
    for mode in (layer.train(), layer.eval()):
        assert mode(x).detach().numpy() == pytest.approx(told, abs=1e-5)


def test_batch_norm_is_torchs():
    layer = torch.nn.BatchNorm1d(4)
    assert layer(torch.from_numpy(words()).float()).detach().numpy() == pytest.approx(
        normalised(words(), TRAINING), abs=1e-5
    )


def test_what_is_framed():
    assert np.argwhere(compute(norm=LAYER, other=AS_IT_IS, word=3)["counted"])[:, 0].tolist() == [2] * 4
    assert compute(norm=TRAINING, other=AS_IT_IS, word=3)["counted"][:, 0].all()


def test_no_goal_is_met_at_the_start():
    lab = WhichMean()
    assert not any(goal.met(lab.facts, lab.facts) for goal in lab.goals)
