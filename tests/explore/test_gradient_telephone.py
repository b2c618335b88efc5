"""W1, the gradient telephone: products of factors as they come out on paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore import gradient_telephone
from course_lib.explore.gradient_telephone import ACTIVATIONS, HIDDEN, compute, slope, turn_and_inputs

FACTORS = (0.5, 0.9, 1.0, 1.1, 1.2)


@pytest.mark.parametrize(
    ("factor", "steps", "left"), [(0.9, 50, 5.15e-3), (1.1, 50, 117), (0.5, 20, 9.54e-7), (1.0, 100, 1.0)]
)
def test_a_linear_network_multiplies_by_its_factor_alone(factor, steps, left):
    facts = compute(factor=factor, steps=steps, activation="linear")
    assert facts["left"] == pytest.approx(left, rel=4e-3)
    assert facts["norms"] == pytest.approx(factor ** np.arange(steps + 1.0))


@pytest.mark.parametrize("factor", FACTORS)
def test_no_activation_lets_more_through_than_none(factor):
    linear, tanh, sigmoid = (
        compute(factor=factor, steps=100, activation=name)["norms"] for name in ACTIVATIONS
    )
    assert (tanh <= linear * (1 + 1e-9)).all()
    assert (sigmoid <= (0.25 * factor) ** np.arange(101.0) * (1 + 1e-9)).all()
    assert compute(factor=factor, steps=100, activation="linear")["linear"] == pytest.approx(linear)


def test_slopes_have_their_ceilings():
    totals = np.linspace(-6, 6, 1201)
    for name, most in zip(ACTIVATIONS, (1.0, 1.0, 0.25), strict=True):
        slopes = slope(name, gradient_telephone.activate(name, totals))
        assert slopes.max() == pytest.approx(most) and slopes.min() >= 0


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_norm_is_that_of_autograd(activation):
    turn, inputs = (torch.from_numpy(part) for part in turn_and_inputs())
    squash = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}[activation]

    def last(first):
        state = first
        for given in inputs[1:13]:
            state = squash(1.1 * turn @ state + given)
        return state

    first = squash(inputs[0])
    jacobian = torch.autograd.functional.jacobian(last, first)
    expected = torch.linalg.matrix_norm(jacobian, 2).item()
    assert compute(factor=1.1, steps=12, activation=activation)["left"] == pytest.approx(expected)
    assert jacobian.shape == (HIDDEN, HIDDEN)
