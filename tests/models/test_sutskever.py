"""Sequence to sequence of 2014, compared with torch's LSTMs; the order of the source."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.models.sutskever import Sutskever, SutskeverConfig
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS

SOURCES, TARGETS = [[5, 9, 4], [8, 6], []], [[7, 10], [6, 4, 9, 9], [11]]
BATCH = make_batch(SOURCES, TARGETS)


def small(**changes) -> Sutskever:
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "embed": 3, "hidden": 5, "n_layers": 3}
    return Sutskever(SutskeverConfig(**sizes | changes)).double().eval()


def torch_lstm(recurrent) -> nn.LSTM:
    lstm = nn.LSTM(3, 5, num_layers=3, batch_first=True).double()
    lstm.load_state_dict(
        {
            name.replace("_l0", f"_l{depth}"): weight
            for depth, (layer,) in enumerate(recurrent.layers)
            for name, weight in layer.state_dict().items()
        }
    )
    return lstm


@pytest.mark.parametrize("tied", [True, False])
def test_equals_two_torch_lstms(tied):
    """One sentence at a time without padding, with the words reversed and EOS last."""
    model = small(tied=tied)
    logits = model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)
    for row, (source, length) in enumerate(zip(SOURCES, BATCH.tgt_lengths.tolist(), strict=True)):
        embedded = model.words.source(torch.tensor([[*reversed(source), EOS]]))
        _, last = torch_lstm(model.encoder)(embedded)
        hidden, _ = torch_lstm(model.decoder)(model.words.target(BATCH.tgt_in[row : row + 1, :length]), last)
        expected = model.words.logits(model.to_embed(hidden))[0]
        torch.testing.assert_close(logits[row, :length], expected, rtol=0, atol=1e-12)


def test_reverse_equals_a_reversed_source():
    backwards, forwards = small(reverse=True), small(reverse=False)
    reversed_batch = make_batch([source[::-1] for source in SOURCES], TARGETS)
    expected = backwards.encode(BATCH.src, BATCH.src_lengths)
    torch.testing.assert_close(forwards.encode(reversed_batch.src, reversed_batch.src_lengths), expected)
    straight = forwards.encode(BATCH.src, BATCH.src_lengths)
    assert not torch.allclose(straight["hidden"][:2], expected["hidden"][:2])
    torch.testing.assert_close(straight["hidden"][2], expected["hidden"][2])  # an empty source
