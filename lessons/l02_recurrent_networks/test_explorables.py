"""The facts that the explorables of lesson 02 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lessons.l02_recurrent_networks import gradient_telephone


def telephone(factor: float, steps: int, activation: str = "linear") -> dict:
    return gradient_telephone.compute(factor=factor, steps=steps, activation=activation)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.1, 1.2])
def test_no_activation_lets_more_through_than_none(factor):
    linear, tanh, sigmoid = (telephone(factor, 100, name)["norms"] for name in gradient_telephone.ACTIVATIONS)
    assert linear == pytest.approx(factor ** np.arange(101.0)) == telephone(factor, 100)["linear"]
    assert (tanh <= linear * (1 + 1e-9)).all()
    assert (sigmoid <= (0.25 * factor) ** np.arange(101.0) * (1 + 1e-9)).all()


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_what_is_passed_back_is_that_of_autograd(activation):
    turn, inputs = (torch.from_numpy(part) for part in gradient_telephone.turn_and_inputs())
    squash = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}[activation]

    def last(state):
        for given in inputs[1:13]:
            state = squash(1.1 * turn @ state + given)
        return state

    jacobian = torch.autograd.functional.jacobian(last, squash(inputs[0]))
    expected = torch.linalg.matrix_norm(jacobian, 2).item()
    assert telephone(1.1, 12, activation)["left"] == pytest.approx(expected)


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda f=f, n=n: telephone(f, n)["left"], left, 4e-3 * left) for f, n, left in
      [(0.9, 50, 5.15e-3), (1.1, 50, 117), (0.5, 20, 9.54e-7), (1.0, 100, 1.0)]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)
