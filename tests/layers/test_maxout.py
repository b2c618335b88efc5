"""The largest of every few numbers."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.maxout import Maxout, maxout


@pytest.mark.parametrize("pool", [1, 2, 3])
def test_equals_the_loop(pool):
    x = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    expected = [[[max(row[i : i + pool]) for i in range(0, 6, pool)] for row in rows] for rows in x.tolist()]
    torch.testing.assert_close(maxout(x, pool), torch.tensor(expected))


def test_only_the_largest_gets_the_gradient():
    x = torch.tensor([1.0, 5.0, -2.0, -3.0], requires_grad=True)
    maxout(x).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]


def test_the_module_pools_neighbours():
    """As in Cho 2014: unit i is the larger of candidates 2i - 1 and 2i."""
    layer = Maxout(input_size=1, output_size=2)
    with torch.no_grad():
        layer.candidates.weight.copy_(torch.tensor([[1.0], [-1.0], [2.0], [0.0]]))
        layer.candidates.bias.zero_()
    assert layer(torch.tensor([[3.0], [-3.0]])).tolist() == [[3.0, 6.0], [3.0, 0.0]]  # |x| and 2 · relu(x)


def test_a_width_that_does_not_divide_is_named():
    with pytest.raises(ValueError, match="Expected a width that can be cut into groups of 2, but got 3"):
        maxout(torch.zeros(3))
    with pytest.raises(TypeError, match="decimal"):
        maxout(torch.zeros(4, dtype=torch.int64))
