"""The RNN encoder-decoder of 2014, compared with the paper's equations word by word."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.cells import gru_cell
from course_lib.models.cho import Cho, ChoConfig
from course_lib.text.batch import make_batch

BATCH = make_batch([[5, 9, 4], [8], []], [[7, 10], [6, 4, 9, 9], [11]])


def small(**changes) -> Cho:
    torch.manual_seed(0)
    return Cho(ChoConfig(**{"vocab_size": 12, "embed": 3, "hidden": 5} | changes)).double().eval()


def gru_by_hand(layer, word, hidden):
    weights = {name.removesuffix("_l0"): weight for name, weight in layer.layers[0][0].named_parameters()}
    return gru_cell(word, hidden, **weights)


@pytest.mark.parametrize("tied", [True, False])
def test_equals_the_papers_equations(tied):
    model = small(tied=tied)
    logits = model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)
    for row, length in enumerate(BATCH.src_lengths.tolist()):
        hidden = torch.zeros(5, dtype=torch.float64)
        for token in BATCH.src[row, :length]:
            hidden = gru_by_hand(model.encoder, model.words.source(token[None])[0], hidden)
        context = torch.tanh(model.to_context(hidden))
        hidden = torch.tanh(model.to_start(context))
        for position, token in enumerate(BATCH.tgt_in[row, : BATCH.tgt_lengths[row]]):
            word = model.words.target(token[None])[0]
            hidden = gru_by_hand(model.decoder, torch.cat([word, context]), hidden)
            pairs = model.output.candidates(torch.cat([hidden, word, context])).view(3, 2)
            expected = model.words.logits(pairs.max(dim=1).values)
            torch.testing.assert_close(logits[row, position], expected, rtol=0, atol=1e-12)
