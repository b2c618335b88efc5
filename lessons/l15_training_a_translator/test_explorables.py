"""The numbers that the explorables of lesson 15 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from lessons.l15_training_a_translator import loss_floor
from tests.explore.limits import Limit

LIMITS = {
    "LossFloor": [
        Limit("above-one", "ε = 0.1", "smoothing"),
        Limit("above-one", "above 1", "floor"),
        Limit("below-one", "37,000 words", "words"),
        Limit("below-one", "below 1", "floor"),
        Limit("stuck", "No smoothing", "smoothing"),
        Limit("stuck", "above 8", "floor"),
    ],
}
DERIVED = {
    "LossFloor": lambda facts: {
        "others": 1 - facts["right"],
        "one in": facts["words"] / facts["smoothing"] if facts["smoothing"] else 0,
    },
}


def floor_facts(smoothing: float, words: int, softmax: str) -> dict:
    return loss_floor.compute(smoothing=smoothing, words=words, softmax=softmax)


# ---- the lowest loss


@pytest.mark.parametrize("softmax", ["once", "twice"])
@pytest.mark.parametrize("words", loss_floor.WORDS)
@pytest.mark.parametrize("smoothing", loss_floor.SMOOTHINGS)
def test_no_loss_is_below_the_floor_and_torch_computes_the_same(smoothing, words, softmax):
    facts = floor_facts(smoothing, words, softmax)
    assert facts["losses"].min() >= facts["floor"] - 1e-9
    probabilities = torch.full((1, words), 0.3 / (words - 1), dtype=torch.float64)
    probabilities[0, 0] = 0.7
    logits = probabilities.log() if softmax == "once" else probabilities
    expected = float(F.cross_entropy(logits, torch.tensor([0]), label_smoothing=smoothing))
    [loss] = loss_floor.losses(np.array([0.7]), smoothing=smoothing, words=words, softmax=softmax)
    assert loss == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("smoothing", "words", "softmax", "floor"),
    [
        (0.1, 10, "once", 0.5003),
        (0.1, 37_000, "once", 1.3769),
        (0.0, 10, "twice", 1.4612),
        (0.0, 10_000, "twice", 8.2105),
        (0.0, 680, "once", 0.0),
    ],
)
def test_the_lowest_losses(smoothing, words, softmax, floor):
    assert floor_facts(smoothing, words, softmax)["floor"] == pytest.approx(floor, abs=1e-4)


def test_the_perplexity_of_a_perfect_model_with_smoothing():
    assert floor_facts(0.1, 37_000, "once")["perplexity"] == pytest.approx(3.96, abs=0.005)


@pytest.mark.parametrize("softmax", ["once", "twice"])
def test_the_dot_is_at_the_lowest_point_of_the_curve(softmax):
    axes = Figure().add_subplot()
    loss_floor.draw_losses(axes)(loss_floor.compute(smoothing=0.1, words=10, softmax=softmax))
    curve = max(axes.lines, key=lambda line: len(line.get_xdata()))
    [dot] = [line for line in axes.lines if line.get_marker() == "o"]
    lowest = curve.get_xydata()[curve.get_ydata().argmin()]
    assert dot.get_xydata()[0] == pytest.approx(lowest, abs=0.01)
