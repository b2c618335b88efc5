"""Recurrent language models, compared with torch's layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.models.recurrent_lm import RecurrentLM, RecurrentLMConfig

TOKENS = torch.tensor([[2, 5, 9, 4], [2, 7, 0, 0]])
KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def small(**changes) -> RecurrentLM:
    torch.manual_seed(0)
    return RecurrentLM(RecurrentLMConfig(**{"vocab_size": 12, "embed": 3, "hidden": 5} | changes)).double()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tied", [True, False])
def test_equals_torchs_layers(kind, tied):
    model = small(kind=kind, tied=tied)
    theirs = KINDS[kind](3, 5, batch_first=True).double()
    theirs.load_state_dict(model.recurrent.layers[0][0].state_dict())
    hidden, _ = theirs(model.words.target(TOKENS))
    logits, weights = model.decode(TOKENS, with_weights=True)
    torch.testing.assert_close(logits, model.words.logits(model.to_embed(hidden)), rtol=0, atol=1e-12)
    assert weights is None and not model.attends
