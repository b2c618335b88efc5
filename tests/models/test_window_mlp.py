"""Bengio's network of 2003, compared with the paper's formula."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.window_mlp import WindowMLP, WindowMLPConfig
from course_lib.text.special import PAD

TOKENS = torch.tensor([[2, 5, 9, 4, 8, 6], [2, 7, 7, 10, 0, 0]])


def small(**changes) -> WindowMLP:
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "embed": 3, "hidden": 5, "window": 3}
    return WindowMLP(WindowMLPConfig(**sizes | changes)).double()


@pytest.mark.parametrize("window", [1, 3, 9])
@pytest.mark.parametrize("tied", [True, False])
def test_equals_the_papers_formula(window, tied):
    model = small(window=window, tied=tied)
    logits, weights = model.decode(TOKENS, with_weights=True)
    for row, tokens in enumerate(TOKENS.tolist()):
        for position in range(len(tokens)):
            past = [PAD] * window + tokens[: position + 1]
            x = torch.cat([model.words.target(torch.tensor([token]))[0] for token in past[-window:]])
            hidden = torch.tanh(model.to_hidden.weight @ x + model.to_hidden.bias)
            expected = model.words.logits(model.to_embed(hidden))
            torch.testing.assert_close(logits[row, position], expected, rtol=0, atol=1e-12)
    assert weights is None and not model.attends
