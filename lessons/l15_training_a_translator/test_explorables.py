"""The numbers that the explorables of lesson 15 show."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from lessons.l15_training_a_translator import loss_floor, rate_dial


def rate_facts(step: int, warm_up: int = 4000) -> dict:
    return rate_dial.compute(warm_up=warm_up, d_model=512, step=step)


def floor_facts(smoothing: float, words: int, softmax: str) -> dict:
    return loss_floor.compute(smoothing=smoothing, words=words, softmax=softmax)


# ---- the learning rate


def test_the_curve_is_the_rate_and_has_its_peak_after_warm_up():
    steps = np.array([1, 30, 4000, 5000, 90_000])
    rates = [rate_facts(int(step))["rate"] for step in steps]
    assert rate_dial.rates(steps, warm_up=4000, d_model=512) == pytest.approx(rates)
    assert rate_facts(1)["linear"].max() <= rate_facts(1)["peak"] * (1 + 1e-9)


@pytest.mark.parametrize(("step", "rate"), [(1, 1.747e-7), (4000, 6.988e-4), (100_000, 1.398e-4)])
def test_rates_of_the_papers_base_model(step, rate):
    assert rate_facts(step)["rate"] == pytest.approx(rate, rel=5e-4)


def test_twice_the_warm_up_divides_the_peak_by_the_root_of_two():
    assert rate_facts(1)["peak"] / rate_facts(1, warm_up=8000)["peak"] == pytest.approx(math.sqrt(2))


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


@pytest.mark.parametrize("draw", [rate_dial.draw_linear, rate_dial.draw_logarithmic])
def test_the_curve_goes_from_left_to_right_and_is_highest_at_the_end_of_warm_up(draw):
    axes = Figure().add_subplot()
    facts = {"warm_up": 8000, "d_model": 512, "step": 100}
    draw(axes)(facts | rate_dial.compute(**facts))
    curve = max(axes.lines, key=lambda line: len(line.get_xdata()))
    assert (np.diff(curve.get_xdata()) >= 0).all()
    assert curve.get_xdata()[curve.get_ydata().argmax()] == 8000


@pytest.mark.parametrize("softmax", ["once", "twice"])
def test_the_dot_is_at_the_lowest_point_of_the_curve(softmax):
    axes = Figure().add_subplot()
    loss_floor.draw_losses(axes)(loss_floor.compute(smoothing=0.1, words=10, softmax=softmax))
    curve = max(axes.lines, key=lambda line: len(line.get_xdata()))
    [dot] = [line for line in axes.lines if line.get_marker() == "o"]
    lowest = curve.get_xydata()[curve.get_ydata().argmin()]
    assert dot.get_xydata()[0] == pytest.approx(lowest, abs=0.01)
