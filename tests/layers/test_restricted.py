"""Restricted attention: the banded form equals the masked one, and its memory grows with n alone."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.restricted import attend_nearby, window_mask

KEY_DIM, VALUE_DIM = 4, 3


def inputs(*front: int, n: int):
    generator = torch.Generator().manual_seed(n)
    widths = (KEY_DIM, KEY_DIM, VALUE_DIM)
    return [torch.randn(*front, n, width, generator=generator, dtype=torch.float64) for width in widths]


@pytest.mark.parametrize("n", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("radius", [1, 2, 3, 20])
@pytest.mark.parametrize("causal", [False, True])
def test_banded_equals_masked_with_gradients(n, radius, causal):
    mask = window_mask(n, radius) & causal_mask(n) if causal else window_mask(n, radius)
    outcomes = []
    for banded in (True, False):
        leaves = [tensor.requires_grad_() for tensor in inputs(2, 3, n=n)]
        if banded:
            context = attend_nearby(*leaves, radius=radius, causal=causal)
        else:
            context, _ = attend(*leaves, may_look=mask)
        context.square().sum().backward()
        outcomes.append([context, *(leaf.grad for leaf in leaves)])
    torch.testing.assert_close(*outcomes)


@pytest.mark.parametrize("front", [(3,), (3, 2)], ids=str)
def test_padding_is_hidden(front):
    """A word all of whose neighbours are padding, and that is padding itself, gets zeros, never NaN."""
    n, radius, lengths = 9, 2, torch.tensor([9, 1, 4])
    may_look = padding_mask(lengths, n)
    if len(front) == 2:
        may_look = may_look.unsqueeze(1)
    expected, _ = attend(*inputs(*front, n=n), may_look=may_look & window_mask(n, radius))
    context = attend_nearby(*inputs(*front, n=n), radius=radius, may_look=may_look)
    torch.testing.assert_close(context, expected)
    assert context[1, ..., -1, :].eq(0).all()


def test_works_without_any_axis_in_front():
    expected, _ = attend(*inputs(n=7), may_look=window_mask(7, 2))
    torch.testing.assert_close(attend_nearby(*inputs(n=7), radius=2), expected)


def test_a_radius_that_covers_the_sentence_is_plain_attention():
    torch.testing.assert_close(attend_nearby(*inputs(2, n=6), radius=6), attend(*inputs(2, n=6))[0])


def test_a_window_looks_both_ways_alike():
    mask = window_mask(6, 2)
    assert torch.equal(mask, mask.mT)
    assert mask.sum(dim=-1).tolist() == [3, 4, 5, 5, 4, 3]


def largest_kept(n: int, radius: int) -> int:
    """The largest tensor that is kept for the way back."""
    sizes = []

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    leaves = [tensor.requires_grad_() for tensor in inputs(n=n)]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        attend_nearby(*leaves, radius=radius)
    return max(sizes)


def test_memory_grows_with_n_times_radius_and_not_with_n_squared():
    n, radius = 4000, 8
    assert largest_kept(n, radius) <= 3 * n * radius < n * n / 100
    assert largest_kept(2 * n, radius) == 2 * largest_kept(n, radius)


def test_wrong_sizes_are_refused():
    query, keys, values = inputs(2, n=5)
    with pytest.raises(ValueError, match=r"radius of at least 1.*but got 0"):
        attend_nearby(query, keys, values, radius=0)
    with pytest.raises(ValueError, match=r"as many queries as keys.*4 queries and 5 keys"):
        attend_nearby(query[:, :4], keys, values, radius=2)
    with pytest.raises(TypeError, match="boolean"):
        attend_nearby(query, keys, values, radius=2, may_look=torch.ones(2, 1, 5))
    with pytest.raises(ValueError, match="hide keys from all queries alike"):
        attend_nearby(query, keys, values, radius=2, may_look=torch.ones(5, 5, dtype=torch.bool))


def test_a_mask_for_all_sentences_serves_each():
    query, keys, values = inputs(2, 3, n=5)
    may_look = torch.tensor([[True, True, False, True, False]])
    expected = attend_nearby(query, keys, values, radius=2, may_look=may_look.expand(2, 3, 1, 5))
    torch.testing.assert_close(attend_nearby(query, keys, values, radius=2, may_look=may_look), expected)
