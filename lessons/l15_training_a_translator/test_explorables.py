"""The facts that the explorables of lesson 15 show."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lessons.l15_training_a_translator import loss_floor, rate_dial


def rate(step: int, warm_up: int = 4000) -> dict:
    return rate_dial.compute(warm_up=warm_up, d_model=512, step=step)


def floor(smoothing: float, words: int, softmax: str) -> dict:
    return loss_floor.compute(smoothing=smoothing, words=words, softmax=softmax)


def test_the_curve_is_the_rate():
    steps = np.array([1, 30, 4000, 5000, 90_000])
    found = [rate(int(step))["rate"] for step in steps]
    assert rate_dial.rates(steps, warm_up=4000, d_model=512) == pytest.approx(found)
    assert rate(1)["even"].max() <= rate(1)["peak"] * (1 + 1e-9)


@pytest.mark.parametrize("softmax", ["once", "twice"])
@pytest.mark.parametrize("words", loss_floor.WORDS)
@pytest.mark.parametrize("smoothing", loss_floor.SMOOTHINGS)
def test_nothing_lies_below_the_floor_and_torch_computes_the_same(smoothing, words, softmax):
    found = floor(smoothing, words, softmax)
    assert found["losses"].min() >= found["floor"] - 1e-9
    shares = torch.full((1, words), 0.3 / (words - 1), dtype=torch.float64)
    shares[0, 0] = 0.7
    logits = shares.log() if softmax == "once" else shares
    theirs = float(F.cross_entropy(logits, torch.tensor([0]), label_smoothing=smoothing))
    ours = loss_floor.losses(np.array([0.7]), smoothing=smoothing, words=words, softmax=softmax)[0]
    assert ours == pytest.approx(theirs, abs=1e-6)


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda s=s: rate(s)["rate"], found, 5e-4 * found) for s, found in
      [(1, 1.747e-7), (4000, 6.988e-4), (100_000, 1.398e-4)]),
    (lambda: rate(1)["peak"] / rate(1, warm_up=8000)["peak"], math.sqrt(2), 1e-9),
    *((lambda s=s: floor(*s)["floor"], lowest, 1e-4) for *s, lowest in
      [(0.1, 10, "once", 0.5003), (0.1, 37_000, "once", 1.3769), (0.0, 10, "twice", 1.4612),
       (0.0, 10_000, "twice", 8.2105), (0.0, 680, "once", 0.0)]),
    (lambda: floor(0.1, 37_000, "once")["perplexity"], 3.96, 0.005),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)
