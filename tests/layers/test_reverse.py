"""Turning a sentence round without its padding."""

from __future__ import annotations

import torch

from course_lib.layers.reverse import reverse_within

LENGTHS = torch.tensor([5, 1, 3, 0])


def test_equals_the_loop():
    x = torch.randn(4, 5, 2, 3, generator=torch.Generator().manual_seed(0))
    expected = x.clone()
    for row, length in enumerate(LENGTHS.tolist()):
        for place in range(length):
            expected[row, place] = x[row, length - 1 - place]
    assert torch.equal(reverse_within(x, LENGTHS), expected)
    assert torch.equal(reverse_within(x[..., 0, 0], LENGTHS), expected[..., 0, 0])


def test_twice_is_undone_and_gradients_go_back_to_where_they_belong():
    x = torch.arange(20.0).view(4, 5).requires_grad_()
    turned = reverse_within(x, LENGTHS)
    assert torch.equal(reverse_within(turned, LENGTHS), x)
    (turned * torch.arange(20.0).view(4, 5)).sum().backward()
    assert torch.equal(x.grad, reverse_within(torch.arange(20.0).view(4, 5), LENGTHS))


def test_without_lengths_the_whole_row_is_turned():
    x = torch.arange(12).view(2, 3, 2)
    assert torch.equal(reverse_within(x, None), reverse_within(x, torch.tensor([3, 3])))
