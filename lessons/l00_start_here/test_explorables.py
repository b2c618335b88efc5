"""The softmax dial shows a softmax, and what its prediction calls right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lessons.l00_start_here.softmax_dial import SCORES, SoftmaxDial, compute, softmax
from tests.explore.settings import open_question


@pytest.mark.parametrize("multiplier", [0.0, 0.7, 1.0, 8.0])
def test_the_probabilities_are_those_of_torch(multiplier):
    expected = torch.softmax(torch.tensor(SCORES) * multiplier, dim=0)
    assert compute(multiplier=multiplier)["probabilities"] == pytest.approx(expected.numpy())


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_the_softmax_never_overflows(size):
    assert softmax(np.array([[size, -size, 0.0, size]])).tolist() == [[0.5, 0.0, 0.0, 0.5]]


def test_times_eight_brings_the_largest_probability_close_to_one():
    asked, _, before, after = open_question("00", "times-eight", SoftmaxDial)
    assert asked.right == [1], "close to 1: neither the same nor eight times as large"
    assert before["multiplier"] == 1 and before["scores"].tolist() == [1.0, 0.5, 0.0]
    assert after["multiplier"] == 8 and after["probabilities"].max() > 0.97
