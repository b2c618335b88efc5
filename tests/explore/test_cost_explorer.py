"""W19: the crossovers and shares that the cost explorer shows, and that torch's own counter agrees."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.explore.cost_explorer import (
    LENGTHS,
    WIDTHS,
    CostExplorer,
    compute,
    flops,
    recurrent_flops,
)
from course_lib.layers.block import Block


@pytest.mark.parametrize("d", WIDTHS)
def test_attention_meets_a_recurrent_layer_at_n_equal_to_d(d):
    assert compute(n=d, d=d, heads=8)["against_recurrent"] == 1
    assert compute(n=d, d=d, heads=8)["meets_recurrent"] == d


@pytest.mark.parametrize(("d", "n"), [(64, 384), (512, 3072)])
def test_attention_meets_the_rest_of_the_block_at_six_d(d, n):
    found = compute(n=n, d=d, heads=8)
    assert found["meets_rest"] == n and found["share"] == 0.5


@pytest.mark.parametrize(("n", "share"), [(64, 2.0), (512, 14.3), (3072, 50.0), (8192, 72.7)])
def test_shares_at_width_512(n, share):
    assert round(100 * compute(n=n, d=512, heads=8)["share"], 1) == share


def test_torch_counts_the_same():
    n, d = 48, 64
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=True)
    assert counter.get_total_flops() == sum(flops(n, d).values())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        torch.nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d))
    assert counter.get_total_flops() == recurrent_flops(n, d)


def test_every_curve_stays_in_its_picture():
    found = [compute(n=n, d=d, heads=1) for n in LENGTHS for d in WIDTHS]
    sizes = [one["parts"]["attention"] for one in found] + [one["recurrent"] for one in found]
    rest = [one["total"] - one["parts"]["attention"] for one in found]
    assert min(sizes) > 6e4 and max(*sizes, *rest) < 1e13


def test_no_goal_is_reached_at_the_start():
    explorer = CostExplorer()
    assert not any(goal.met(explorer.facts, explorer.facts) for goal in explorer.goals)
