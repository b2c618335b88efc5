"""W10: what more heads cost, and what they do not."""

from __future__ import annotations

import pytest
import torch

from course_lib.explore.head_count import COUNTS, D_MODEL, EACH, SHARED, HeadCount, compute, cost, head_width
from course_lib.layers.multi_head import join_heads, split_heads


@pytest.mark.parametrize("n_heads", COUNTS)
def test_shared_out_only_the_scores_grow(n_heads):
    n = 20
    found = cost(n_heads, n, SHARED)
    assert found["params"] == 1_048_576
    assert found["multiplies"] == n**2 * 512
    assert found["entries"] == n_heads * n**2
    assert found["d_k"] * n_heads == D_MODEL


@pytest.mark.parametrize("n_heads", COUNTS)
def test_the_parameters_are_those_of_torch(n_heads):
    layer = torch.nn.MultiheadAttention(D_MODEL, n_heads, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == cost(n_heads, 8, SHARED)["params"]


def test_heads_of_fixed_width_cost_more_the_more_there_are():
    assert cost(8, 20, EACH) == cost(8, 20, SHARED)
    assert cost(64, 20, EACH)["params"] > 7.9 * cost(1, 20, SHARED)["params"]
    assert cost(16, 20, EACH)["multiplies"] == 2 * cost(8, 20, EACH)["multiplies"]


def test_one_head_is_called_one_head():
    for n_heads, told in {1: "1 head, ", 8: "8 heads, "}.items():
        chosen = {"n_heads": n_heads, "n": 16, "widths": SHARED}
        assert HeadCount.heading(chosen | compute(**chosen)).startswith(told)


def test_a_width_that_cannot_be_shared_out_is_refused():
    with pytest.raises(ValueError, match="512 / 3 is no whole number"):
        head_width(3)
    with pytest.raises(ValueError, match="multiple of n_heads"):
        split_heads(torch.zeros(1, 2, 512), n_heads=3)


def test_joined_heads_have_the_width_of_the_model():
    words = torch.randn(1, 7, D_MODEL)
    for n_heads in COUNTS:
        assert join_heads(split_heads(words, n_heads=n_heads))[0].shape == (7, 512)


def test_the_wrong_view_hands_out_pieces_of_words():
    words = torch.arange(12).reshape(1, 3, 4)
    assert words.view(1, 2, 3, 2)[0, 0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert split_heads(words.float(), n_heads=2)[0, 0].tolist() == [[0, 1], [4, 5], [8, 9]]


@pytest.mark.parametrize("n_heads", COUNTS)
def test_there_is_a_table_for_each_head(n_heads):
    picture = compute(n_heads=n_heads, n=16, widths=SHARED)["tables"]
    across = next(count for count in (1, 2, 4, 8) if count**2 >= n_heads)
    scale = 8 // across
    assert (picture >= 0).sum() == n_heads * (6 * scale) ** 2
