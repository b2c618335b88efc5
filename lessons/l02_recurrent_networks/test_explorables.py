"""The explorable shows the norm of a product of Jacobians, as autograd computes it."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch

from lessons.l02_recurrent_networks.gradient_telephone import (
    ACTIVATIONS,
    GradientTelephone,
    compute,
    matrix_and_inputs,
)
from tests.explore.limits import Limit
from tests.explore.settings import open_question

LIMITS = {
    "GradientTelephone": [
        Limit("steady", "100 steps", "steps"),
        Limit("steady", "between ½", "arrives", operator.gt),
        Limit("steady", "and 2", "arrives", operator.lt),
        Limit("explodes", "above 1000", "arrives"),
        Limit("explodes", "within 40 steps", "steps"),
        Limit("silent", "below one millionth", "arrives"),
        Limit("silent", "within 8 steps", "steps"),
    ],
}


def facts_at(factor: float, steps: int, activation: str = "linear") -> dict:
    return compute(factor=factor, steps=steps, activation=activation)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.1, 1.2])
def test_no_activation_lets_more_through_than_the_linear_network(factor):
    linear, tanh, sigmoid = (facts_at(factor, 100, name)["norms"] for name in ACTIVATIONS)
    powers = factor ** np.arange(101.0)
    assert linear == pytest.approx(powers) == facts_at(factor, 100)["linear"]
    assert (tanh <= linear * (1 + 1e-9)).all()
    assert (sigmoid <= 0.25 ** np.arange(101.0) * powers * (1 + 1e-9)).all()


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_what_arrives_is_the_norm_of_autograds_jacobian(activation):
    matrix, inputs = (torch.from_numpy(part) for part in matrix_and_inputs())
    activate = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}[activation]

    def last_state(state):
        for x in inputs[1:13]:
            state = activate(1.1 * matrix @ state + x)
        return state

    jacobian = torch.autograd.functional.jacobian(last_state, activate(inputs[0]))
    expected = torch.linalg.matrix_norm(jacobian, 2).item()
    assert facts_at(1.1, 12, activation)["arrives"] == pytest.approx(expected)


def test_only_a_factor_of_one_arrives_unharmed():
    assert facts_at(1.0, 100)["arrives"] == pytest.approx(1)
    assert facts_at(0.95, 100)["arrives"] < 0.01 and facts_at(1.05, 100)["arrives"] > 100
    assert facts_at(1.0, 10, "sigmoid")["arrives"] < 1e-6


def test_nine_tenths_over_fifty_steps():
    asked, right, _, facts = open_question("02", "nine-tenths", GradientTelephone)
    assert (facts["factor"], facts["steps"], facts["activation"]) == (0.9, 50, "linear")
    options = [float(option.text.split()[-1]) for option in asked.options]
    assert min(options, key=lambda option: abs(np.log(option / facts["arrives"]))) == float(right.split()[-1])
    assert facts_at(1.1, 50)["arrives"] == pytest.approx(117, abs=0.5)
