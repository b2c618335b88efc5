"""LSTMN translators, compared with the formulas of both fusions for one sentence at a time."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.lstmn import LSTMN, LSTMNConfig

EMBED, HIDDEN, ATTN = 5, 4, 3
SRC, LENGTHS = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0]]), torch.tensor([5, 3])
TGT_IN = torch.tensor([[1, 5, 6, 7], [1, 10, 11, 6]])

both_fusions = pytest.mark.parametrize("fusion", ["shallow", "deep"])


def small(fusion: str, **changes) -> LSTMN:
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "embed": EMBED, "hidden": HIDDEN, "attn_dim": ATTN}
    return LSTMN(LSTMNConfig(**(sizes | changes), fusion=fusion)).double().eval()


def lstm_gates(cell, x, h):
    i, f, new, o = (cell.weight_ih @ x + cell.bias_ih + cell.weight_hh @ h + cell.bias_hh).view(4, HIDDEN)
    return i.sigmoid(), f.sigmoid(), new.tanh(), o.sigmoid()


def attention_weights(score, query, hiddens):
    scores = [score.v @ torch.tanh(score.w_query @ query + score.w_key @ h) for h in hiddens]
    return torch.stack(scores).softmax(dim=0)


def by_the_paper(model: LSTMN, src, tgt_in, fusion: str):
    """One sentence without padding: logits, weights over the source and over the tape."""
    encoded = model.encoder.encode(model.words.source(src)[None])[1]["tape"][0]
    gammas, alphas = encoded.chunk(2, dim=-1)
    hiddens, cells = [gammas[-1]], [alphas[-1]]  # the decoder's tape starts with the encoder's last entry
    summary = source_summary = torch.zeros(HIDDEN, dtype=torch.float64)
    logits, source_weights, tape_weights = [], [], []
    for x in model.words.target(tgt_in):
        query = torch.cat([x, source_summary]) if fusion == "deep" else hiddens[-1]
        weights = attention_weights(model.score, query, gammas)
        source_summary, source_memory = weights @ gammas, weights @ alphas
        inputs = x if fusion == "deep" else torch.cat([x, source_summary])
        own = attention_weights(model.decoder.score, torch.cat([inputs, summary]), hiddens)
        summary, memory = own @ torch.stack(hiddens), own @ torch.stack(cells)
        i, f, new, o = lstm_gates(model.decoder.cell, inputs, summary)
        cell = f * memory + i * new
        if fusion == "deep":
            cell = cell + model.gate(torch.cat([source_summary, x])).sigmoid() * source_memory
        cells.append(cell)
        hiddens.append(o * cell.tanh())
        logits.append(model.words.logits(model.output(hiddens[-1])))
        source_weights.append(weights)
        tape_weights.append(torch.nn.functional.pad(own, (0, len(tgt_in) + 1 - len(own))))
    return torch.stack(logits), torch.stack(source_weights), torch.stack(tape_weights)


@both_fusions
def test_equals_the_papers_formulas(fusion):
    model = small(fusion)
    logits, weights = model.decode(model.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    all_weights = model.attention_weights(SRC, LENGTHS, TGT_IN)
    assert weights.shape == (2, 1, 1, 4, 5) and torch.equal(all_weights["cross"], weights)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, source_weights, tape_weights = by_the_paper(model, SRC[row, :length], TGT_IN[row], fusion)
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, 0, 0, :, :length], source_weights)
        torch.testing.assert_close(all_weights["decoder"][row, 0, 0], tape_weights)
    _, _, encoder_weights = model.encoder.encode(model.words.source(SRC), with_weights=True)
    assert torch.equal(all_weights["encoder"][:, 0, 0], encoder_weights)
