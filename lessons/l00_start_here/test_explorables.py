"""The facts that the explorables of lesson 00 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lessons.l00_start_here import softmax_dial
from lessons.l00_start_here.softmax_dial import softmax


def test_the_softmax_is_that_of_torch_and_never_overflows():
    for multiplier in (0.0, 0.7, 1.0, 8.0):
        weights = torch.softmax(torch.tensor(softmax_dial.SCORES) * multiplier, dim=0)
        assert softmax_dial.compute(multiplier=multiplier)["weights"] == pytest.approx(weights.numpy())
    for size in (1e4, 1e300):
        assert softmax(np.array([[size, -size, 0.0, size]])).tolist() == [[0.5, 0.0, 0.0, 0.5]]
