"""What the explorable of lesson 17 computes."""

from __future__ import annotations

import operator

import pytest
import torch
from matplotlib.figure import Figure
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers.block import Block
from lessons.l17_what_it_costs import cost_explorer
from tests.explore.limits import Limit

LIMITS = {
    "CostExplorer": [
        Limit("half", "half", "fraction"),
        Limit("half", "narrower than 512", "d"),
        Limit("dearer", "d = 1024", "d"),
        Limit("dearer", "under 25%", "fraction"),
        Limit("tables", "10 times", "table_bytes", operator.ge, lambda now, start: 10 * now["words_bytes"]),
        Limit("tables", "under 15%", "fraction"),
    ],
}
DERIVED = {
    "CostExplorer": lambda facts: {
        "fractions": {name: part / facts["total"] for name, part in facts["parts"].items()},
        "megabytes": {name: facts[name] / 1e6 for name in ("table_bytes", "words_bytes")},
    },
}


def facts(n: int, d: int = 512) -> dict:
    return cost_explorer.compute(n=n, d=d, heads=8)


def test_the_crossovers_are_at_d_and_at_6d():
    for d in cost_explorer.WIDTHS:
        assert facts(d, d)["against_recurrent"] == 1
    for d in (64, 512):
        assert facts(6 * d, d)["fraction"] == 0.5


def test_torch_counts_the_same():
    n, d = 48, 64
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=True)
    assert counter.get_total_flops() == sum(cost_explorer.flops(n, d).values())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d))
    assert counter.get_total_flops() == cost_explorer.recurrent_flops(n, d)


def test_every_curve_stays_inside_its_panel():
    settings = [facts(n, d) for n in cost_explorer.LENGTHS for d in cost_explorer.WIDTHS]
    attention = [setting["parts"]["attention"] for setting in settings]
    rest = [setting["total"] - setting["parts"]["attention"] for setting in settings]
    recurrent = [setting["recurrent"] for setting in settings]
    assert min(*attention, *recurrent) > 6e4 and max(*attention, *recurrent, *rest) < 1e13


@pytest.mark.parametrize(("n", "percent"), [(64, 2.0), (512, 14.3), (3072, 50.0), (8192, 72.7)])
def test_the_fraction_of_attention(n, percent):
    assert 100 * facts(n)["fraction"] == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize("n", [16, 512, 8192])
def test_every_curve_ends_at_its_dot(n):
    axes = Figure().add_subplot()
    cost_explorer.draw_growth(axes)({"n": n, "d": 512, "heads": 8} | facts(n))
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    curves = [line for line in axes.lines if line not in dots]
    assert len(curves) == len(dots) == 3
    for curve, dot in zip(curves, dots, strict=True):
        assert tuple(curve.get_xydata()[-1]) == tuple(dot.get_xydata()[0]) and dot.get_xdata()[0] == n
