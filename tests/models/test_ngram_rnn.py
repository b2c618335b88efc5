"""The n-gram RNN: parts of the output that wait their turn."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.ngram_rnn import NGramRNN, NGramRNNConfig

TOKENS = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 9, 4, 10]])


def small(order: int) -> NGramRNN:
    torch.manual_seed(0)
    return NGramRNN(NGramRNNConfig(vocab_size=12, embed=5, hidden=12, order=order)).double().eval()


@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_equals_the_formula_word_by_word(order):
    """h*_t = tanh(W [h_t¹; h_{t-1}²; …]), with zeros before the start; order 7 is longer than the text."""
    model = small(order)
    logits, weights = model.decode(TOKENS, with_weights=True)
    assert weights is None
    outputs, _ = model.lstm.explicit(model.words.target(TOKENS))
    width = 12 // (order - 1)
    for row in range(2):
        for t in range(5):
            parts = [
                outputs[row, t - late, late * width : (late + 1) * width]
                if t >= late
                else torch.zeros(width, dtype=torch.float64)
                for late in range(order - 1)
            ]
            feature = torch.tanh(model.join.weight @ torch.cat(parts))
            torch.testing.assert_close(logits[row, t], model.words.logits(feature))


@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_word_by_word_it_keeps_what_is_not_used_up(order):
    model = small(order)
    whole, state = model(TOKENS), model.start(n_rows=2)
    for place, tokens in enumerate(TOKENS.unbind(dim=1)):
        logits, state, _ = model.step(state, tokens)
        torch.testing.assert_close(logits, whole[:, place])
        assert state["earlier"].shape == (2, order - 2, 12)


def test_a_wrong_order_or_width_is_refused():
    with pytest.raises(ValueError, match="order of at least 2, but got 1"):
        small(1)
    with pytest.raises(ValueError, match="hidden to be a multiple of 5, but got 12"):
        small(6)
