"""W2, the gate mixer: the facts that lesson 03 leans on, and the prediction that opens it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore import GateMixer
from course_lib.explore.gate_mixer import cell_path, compute, half_life, sigmoid
from course_lib.teaching.questions import questions


def test_a_gate_of_one_that_writes_nothing_keeps_the_cell_as_it_is():
    np.testing.assert_array_equal(cell_path(forget=1.0, write=0.0, steps=100, first=0.7), np.full(101, 0.7))


def test_the_sigmoid_of_one():
    assert sigmoid(1.0) == pytest.approx(0.7311, abs=5e-5)


@pytest.mark.parametrize(("bias", "steps"), [(0, 1.0), (1, 2.2), (2, 5.5), (3, 14.3), (5, 103)])
def test_half_lives_of_forget_biases(bias, steps):
    assert half_life(bias) == pytest.approx(steps, abs=0.5 if steps > 100 else 0.05)
    assert sigmoid(bias) ** half_life(bias) == pytest.approx(0.5)


def test_what_is_left_after_a_hundred_steps():
    assert cell_path(forget=0.99, write=0.0, steps=100)[-1] == pytest.approx(0.366, abs=5e-4)
    assert cell_path(forget=0.9, write=0.0, steps=100)[-1] == pytest.approx(2.7e-5, rel=0.02)


def test_the_cell_is_that_of_torch():
    """Weights of 0 but for the forget bias and the candidate: what the picture calls new, through a tanh."""
    facts = compute(forget_bias=1.5, write=0.5, steps=20)
    cell = torch.nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for weight in cell.parameters():
            weight.zero_()
        cell.bias_ih[1] = 1.5
        cell.weight_ih[2] = 100.0  # the candidate is the sign of what comes
        hidden, held = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
        news = facts["cell"][1:] - facts["forget"] * facts["cell"][:-1]
        for new in np.sign(news):
            hidden, held = cell(torch.full((1, 1), new, dtype=torch.float64), (hidden, held))
    assert held.item() == pytest.approx(facts["cell"][-1])


def test_the_prediction_opens_where_it_asks():
    asked = questions("03")["bias-one"]
    lab = GateMixer()
    lab.preset(asked.preset)
    assert lab.facts["forget_bias"] == 1 and lab.facts["write"] == 0
    assert lab.facts["half_life"] == pytest.approx(asked.answer, abs=0.05)
