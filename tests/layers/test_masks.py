"""Masks: one meaning of True, shapes that lie on the scores, one fill."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, hide, padding_mask


def test_padding_hides_keys_beyond_the_length():
    mask = padding_mask(torch.tensor([3, 0, 4]), 4)
    assert mask.shape == (3, 1, 4) and mask.dtype == torch.bool
    assert mask[:, 0].int().tolist() == [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]


def test_causal_lets_everyone_look_at_itself_and_back():
    mask = causal_mask(10)
    assert mask.shape == (10, 10) and mask.dtype == torch.bool
    assert all(mask[i, j] == (j <= i) for i in range(10) for j in range(10))
    assert mask.sum() == 55  # n(n + 1)/2


def test_masks_join_with_and():
    joined = padding_mask(torch.tensor([2, 3]), 3) & causal_mask(3)
    assert joined.shape == (2, 3, 3)
    assert joined[0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert torch.equal(joined[1], causal_mask(3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_hide_fills_with_minus_infinity_and_leaves_the_rest(dtype):
    scores = torch.tensor([[1.0, float("nan"), -3.0]], dtype=dtype)
    hidden = hide(scores, torch.tensor([[True, False, True]]))
    assert hidden.dtype == dtype
    assert hidden.tolist() == [[1.0, float("-inf"), -3.0]]
    assert scores[0, 1].isnan()  # the input is left as it was


def test_multihead_attention_of_torch_means_the_opposite():
    """The sentence in the docstring of masks.py, held to."""
    torch.manual_seed(0)
    states = torch.randn(2, 3, 4)
    theirs = nn.MultiheadAttention(4, num_heads=1, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        theirs.out_proj.weight.copy_(torch.eye(4))
    may_look = padding_mask(torch.tensor([3, 2]), 3) & causal_mask(3)
    context, weights = attend(states, states, states, may_look=may_look)
    their_context, their_weights = theirs(states, states, states, attn_mask=~may_look)
    torch.testing.assert_close(context, their_context)
    torch.testing.assert_close(weights, their_weights)
