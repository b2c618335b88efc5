"""W16: the rates of the paper's schedule, and the lowest loss with smoothing or with a softmax too many."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from course_lib.explore.loss_floor import SMOOTHINGS, WORDS, LossFloor, losses
from course_lib.explore.loss_floor import compute as floor_of
from course_lib.explore.rate_dial import RateDial, rates
from course_lib.explore.rate_dial import compute as rate_of


@pytest.mark.parametrize(("step", "rate"), [(1, 1.747e-7), (4000, 6.988e-4), (100_000, 1.398e-4)])
def test_rates_of_the_base_model(step, rate):
    found = rate_of(warm_up=4000, d_model=512, step=step)
    assert found["rate"] == pytest.approx(rate, rel=5e-4)
    assert found["peak"] == pytest.approx(6.988e-4, rel=1e-4) and found["even"].max() <= found["peak"] * (
        1 + 1e-9
    )


def test_doubling_the_warm_up_divides_the_peak_by_the_root_of_two():
    one, two = (rate_of(warm_up=steps, d_model=512, step=1)["peak"] for steps in (4000, 8000))
    assert one / two == pytest.approx(math.sqrt(2))


def test_the_curve_is_the_rate():
    steps = np.array([1, 30, 4000, 5000, 90_000])
    found = [rate_of(warm_up=4000, d_model=128, step=int(step))["rate"] for step in steps]
    assert np.allclose(rates(steps, warm_up=4000, d_model=128), found)


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
def test_the_lowest_loss(smoothing, words, softmax, floor):
    assert floor_of(smoothing=smoothing, words=words, softmax=softmax)["floor"] == pytest.approx(
        floor, abs=1e-4
    )


def test_the_papers_perplexity_at_best():
    assert floor_of(smoothing=0.1, words=37_000, softmax="once")["perplexity"] == pytest.approx(
        3.96, abs=0.005
    )


@pytest.mark.parametrize("softmax", ["once", "twice"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_nothing_lies_below_the_floor_and_torch_computes_the_same(smoothing, words, softmax):
    found = floor_of(smoothing=smoothing, words=words, softmax=softmax)
    assert found["losses"].min() >= found["floor"] - 1e-9
    p = 0.7
    shares = torch.full((1, words), (1 - p) / (words - 1), dtype=torch.float64)
    shares[0, 0] = p
    logits = shares.log() if softmax == "once" else shares
    theirs = float(F.cross_entropy(logits, torch.tensor([0]), label_smoothing=smoothing))
    ours = losses(np.array([p]), smoothing=smoothing, words=words, softmax=softmax)[0]
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_no_goal_is_reached_at_the_start():
    for kind in (RateDial, LossFloor):
        facts = kind().facts
        assert not any(goal.met(facts, facts) for goal in kind.goals)
