"""W14: what comes back to the first layer, and how alike words grow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from course_lib.explore.path_past import (
    GAINS,
    NONE,
    PLAIN,
    POST,
    PRE,
    compute,
    gradients,
    likeness,
    norm_back,
    rotations,
)


@pytest.mark.parametrize("gain", GAINS)
def test_without_a_path_the_gain_is_raised_to_the_depth(gain):
    assert compute(depth=12, gain=gain, path=NONE)["back"][0] == pytest.approx(gain**12)


def test_half_the_strength_twelve_times():
    assert compute(depth=12, gain=0.5, path=NONE)["back"][0] == pytest.approx(2.44e-4, rel=2e-3)
    assert compute(depth=12, gain=0.5, path=PLAIN)["ways"] == 4096
    assert compute(depth=12, gain=0.5, path=PLAIN)["back"][0] > 1


def test_the_path_holds_the_identity():
    """I + J of every layer: with a gain near 0 the gradient passes as it is."""
    layers = 1e-9 * rotations()[:12]
    whole = np.linalg.multi_dot([np.eye(64) + layer for layer in layers])
    assert whole == pytest.approx(np.eye(64), abs=1e-6)


def test_words_grow_alike_at_once_without_a_path_and_slowly_with_it():
    without, with_path = likeness(1.0, NONE), likeness(1.0, PRE)
    assert without[2] > 0.97 and without[4] == pytest.approx(1, abs=0.005)
    assert 0.15 < with_path[2] < 0.35 and 0.75 < with_path[12] < 0.9
    assert likeness(1.0, POST)[12] > 0.99


def test_the_gradient_of_the_norm_is_that_of_autograd():
    generator = np.random.default_rng(0)
    x, back = generator.standard_normal((2, 64))
    given = torch.tensor(x, requires_grad=True)
    F.layer_norm(given, (64,)).backward(torch.tensor(back))
    assert norm_back(back, x) == pytest.approx(given.grad.numpy(), abs=1e-9)


@pytest.mark.parametrize("path", [NONE, PLAIN, PRE, POST])
def test_at_the_end_the_gradient_is_one(path):
    assert gradients(6, 0.5, path)[-1] == 1
