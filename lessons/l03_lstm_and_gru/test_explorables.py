"""The gate mixer shows an LSTM cell, and what its prediction calls right."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from course_lib.formatting import fixed
from lessons.l03_lstm_and_gru import GateMixer
from lessons.l03_lstm_and_gru.exercises import HALF_LIFE
from lessons.l03_lstm_and_gru.gate_mixer import cell_values, compute, draw_cell, half_life, sigmoid
from tests.explore.limits import Limit
from tests.explore.settings import open_question

LIMITS = {
    "GateMixer": [
        Limit("keep", "20 steps", "half_life", operator.gt),
        Limit("carry", "more than a tenth", "remaining"),
        Limit("carry", "100 steps", "steps"),
        Limit("drown", "20 steps", "half_life", operator.gt),
        Limit("drown", "below 0", ("cell", -1)),
    ],
}


def test_the_cell_is_that_of_torch():
    """All weights are 0 but the forget bias and the candidate's, which is large: its tanh is the sign."""
    facts = compute(forget_bias=1.5, write=0.5, steps=20)
    lstm = nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for weight in lstm.parameters():
            weight.zero_()
        lstm.bias_ih[1], lstm.weight_ih[2] = 1.5, 100.0
        hidden, cell = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
        for candidate in np.sign(facts["cell"][1:] - facts["forget"] * facts["cell"][:-1]):
            hidden, cell = lstm(torch.full((1, 1), candidate, dtype=torch.float64), (hidden, cell))
    assert cell.item() == pytest.approx(facts["cell"][-1])


def test_a_forget_gate_of_one_and_a_shut_input_gate_keep_the_cell():
    assert (cell_values(forget=1.0, write=0.0, steps=100) == 1).all()


@pytest.mark.parametrize("bias", [-2.0, 0.0, 1.0, 2.0, 3.0, 5.0])
def test_the_half_life_is_that_of_the_exercise(bias):
    assert half_life(bias) == pytest.approx(HALF_LIFE.reference(bias))
    assert sigmoid(bias) ** half_life(bias) == pytest.approx(0.5)


@pytest.mark.parametrize(("gate", "remaining"), [(0.9, 0.00003), (0.99, 0.37)])
def test_what_a_gate_leaves_after_a_hundred_steps(gate, remaining):
    assert cell_values(forget=gate, write=0.0, steps=100)[-1] == pytest.approx(remaining, rel=0.15)


def test_a_forget_bias_of_one_halves_the_cell_within_about_two_steps():
    asked, _, _, facts = open_question("03", "bias-one", GateMixer)
    assert (facts["forget_bias"], facts["write"]) == (1, 0)
    assert facts["half_life"] == pytest.approx(asked.answer, abs=0.05)


@pytest.mark.parametrize("steps", [10, 20, 100])
def test_the_picture_shows_what_is_in_the_cell_at_the_end(steps):
    facts = GateMixer.facts_at({**GateMixer.start, "forget_bias": 1.0, "write": 0.5, "steps": steps})
    axes = Figure().add_subplot()
    draw_cell(axes)(facts)
    shown = " ".join(text.get_text() for text in axes.texts)
    first, last = (fixed(facts["cell"][index], 2) for index in (0, -1))
    assert last in shown and first not in shown
