"""The facts that the explorables of lesson 03 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lessons.l03_lstm_and_gru import gate_mixer
from tests.explore.stops import opened


def test_the_cell_is_that_of_torch():
    """Weights of 0 but for the forget bias and the candidate: what the picture calls new, through a tanh."""
    facts = gate_mixer.compute(forget_bias=1.5, write=0.5, steps=20)
    cell = nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for weight in cell.parameters():
            weight.zero_()
        cell.bias_ih[1], cell.weight_ih[2] = 1.5, 100.0  # the candidate is the sign of what comes
        hidden, held = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
        for new in np.sign(facts["cell"][1:] - facts["forget"] * facts["cell"][:-1]):
            hidden, held = cell(torch.full((1, 1), new, dtype=torch.float64), (hidden, held))
    assert held.item() == pytest.approx(facts["cell"][-1])
    kept = gate_mixer.cell_path(forget=1.0, write=0.0, steps=100)
    assert (kept == 1).all(), "a gate of one that writes nothing keeps the cell as it is"


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda b=b: gate_mixer.half_life(b), steps, 0.05) for b, steps in
      [(0, 1.0), (1, 2.2), (2, 5.5), (3, 14.3)]),
    (lambda: gate_mixer.half_life(5), 103, 0.5),
    (lambda: gate_mixer.sigmoid(1.0), 0.7311, 5e-5),
    (lambda: gate_mixer.cell_path(forget=0.99, write=0.0, steps=100)[-1], 0.366, 5e-4),
    (lambda: gate_mixer.cell_path(forget=0.9, write=0.0, steps=100)[-1], 2.7e-5, 5e-7),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)


def test_the_prediction_is_true():
    asked, _, _, facts = opened("03", "bias-one", gate_mixer.GateMixer)
    assert (facts["forget_bias"], facts["write"]) == (1, 0)
    assert facts["half_life"] == pytest.approx(asked.answer, abs=0.05)
