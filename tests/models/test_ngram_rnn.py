"""The n-gram RNN, compared with its formula."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.ngram_rnn import NGramRNN, NGramRNNConfig

TOKENS = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 9, 4, 10]])


def small(order: int) -> NGramRNN:
    torch.manual_seed(0)
    return NGramRNN(NGramRNNConfig(vocab_size=12, embed=5, hidden=12, order=order)).double().eval()


@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_equals_the_papers_formula(order):
    """h*_t = tanh(W [h_t¹; h_{t-1}²; …]), with zeros before the start; order 7 is longer than the text."""
    model = small(order)
    logits, weights = model.decode(TOKENS, with_weights=True)
    assert weights is None
    outputs, _ = model.lstm(model.words.target(TOKENS))
    width = 12 // (order - 1)
    for row in range(2):
        for t in range(5):
            parts = [
                outputs[row, t - delay, delay * width : (delay + 1) * width]
                if t >= delay
                else torch.zeros(width, dtype=torch.float64)
                for delay in range(order - 1)
            ]
            feature = torch.tanh(model.join.weight @ torch.cat(parts))
            torch.testing.assert_close(logits[row, t], model.words.logits(feature))
