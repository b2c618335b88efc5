"""The facts that the explorables of lesson 17 show."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers.block import Block
from lessons.l17_what_it_costs import cost_explorer


def cost(n: int, d: int = 512) -> dict:
    return cost_explorer.compute(n=n, d=d, heads=8)


def test_where_attention_meets_the_rest_and_torch_counts_the_same():
    for d in cost_explorer.WIDTHS:
        assert cost(d, d)["against_recurrent"] == 1
    for d in (64, 512):
        assert cost(6 * d, d)["share"] == 0.5
    n, d = 48, 64
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=True)
    assert counter.get_total_flops() == sum(cost_explorer.flops(n, d).values())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d))
    assert counter.get_total_flops() == cost_explorer.recurrent_flops(n, d)
    found = [cost(n, d) for n in cost_explorer.LENGTHS for d in cost_explorer.WIDTHS]
    parts = [size for one in found for size in (one["parts"]["attention"], one["recurrent"])]
    rest = [one["total"] - one["parts"]["attention"] for one in found]
    assert min(parts) > 6e4 and max(*parts, *rest) < 1e13, "every curve stays in its picture"


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda n=n: 100 * cost(n)["share"], share, 0.05) for n, share in
      [(64, 2.0), (512, 14.3), (3072, 50.0), (8192, 72.7)]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)
