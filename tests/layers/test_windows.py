"""The last few words, all positions at once and one at a time."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.windows import last_words, slide


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_sliding_equals_all_at_once(n):
    tokens = torch.arange(4, 16).view(2, 6)
    windows = last_words(tokens, n, fill=0)
    assert windows.shape == (2, 6, n)
    window = torch.zeros(2, n, dtype=torch.int64)
    for place in range(6):
        window = slide(window, tokens[:, place])
        assert torch.equal(windows[:, place], window)


def test_a_window_of_nothing_stays_empty():
    assert slide(torch.zeros(2, 0, dtype=torch.int64), torch.tensor([5, 6])).shape == (2, 0)
