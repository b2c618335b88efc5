"""LSTMN translators against the formulas of both fusions, written out for one sentence at a time."""

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


def ask(score, query, hiddens):
    scores = [score.v @ torch.tanh(score.w_query @ query + score.w_key @ h) for h in hiddens]
    return torch.stack(scores).softmax(dim=0)


def by_the_paper(model: LSTMN, src, tgt_in, fusion: str):
    """One sentence without padding: logits and weights over the source."""
    encoded = model.encoder.read(model.words.source(src)[None])[1]["tape"][0]
    gammas, alphas = encoded.chunk(2, dim=-1)
    hiddens, cells = [gammas[-1]], [alphas[-1]]  # the decoder's tape opens with the encoder's last entry
    summary = source_summary = torch.zeros(HIDDEN, dtype=torch.float64)
    logits, looked = [], []
    for x in model.words.target(tgt_in):
        query = torch.cat([x, source_summary]) if fusion == "deep" else hiddens[-1]
        weights = ask(model.score, query, gammas)
        source_summary, source_memory = weights @ gammas, weights @ alphas
        inputs = x if fusion == "deep" else torch.cat([x, source_summary])
        own = ask(model.decoder.score, torch.cat([inputs, summary]), hiddens)
        summary, memory = own @ torch.stack(hiddens), own @ torch.stack(cells)
        i, f, new, o = lstm_gates(model.decoder.cell, inputs, summary)
        cell = f * memory + i * new
        if fusion == "deep":
            cell = cell + model.gate(torch.cat([source_summary, x])).sigmoid() * source_memory
        cells.append(cell)
        hiddens.append(o * cell.tanh())
        logits.append(model.words.logits(model.output(hiddens[-1])))
        looked.append(weights)
    return torch.stack(logits), torch.stack(looked)


@both_fusions
def test_equals_the_formulas_sentence_by_sentence(fusion):
    model = small(fusion)
    logits, weights = model.decode(model.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.shape == (2, 1, 1, 4, 5)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, looked = by_the_paper(model, SRC[row, :length], TGT_IN[row], fusion)
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, 0, 0, :, :length], looked)


@both_fusions
def test_the_decoders_tape_opens_with_the_encoders_last_real_word(fusion):
    model = small(fusion)
    state = model.start(model.encode(SRC, LENGTHS))
    _, alone, _ = model.encoder.read(model.words.source(SRC[1:, :3]))
    torch.testing.assert_close(state["tape"][1], alone["tape"][0, -1:])


def test_a_shut_gate_leaves_deep_fusion_with_its_own_tape_alone():
    """Then only the first entry of the decoder's tape knows of the source."""
    model = small("deep")
    with torch.no_grad():
        model.gate.bias.fill_(-1e9)
    memory = model.encode(SRC, LENGTHS)
    logits, weights = model.decode(memory, TGT_IN, with_weights=True)
    forgetful = memory | {"values": torch.zeros_like(memory["values"])}
    shut, _ = model.decode(forgetful, TGT_IN)
    torch.testing.assert_close(shut, logits)
    assert weights.gt(0).any()
    with torch.no_grad():
        model.gate.bias.fill_(0.0)
    assert not torch.allclose(model.decode(memory, TGT_IN)[0], model.decode(forgetful, TGT_IN)[0])


def test_only_shallow_fusion_asks_with_what_the_decoder_has_said():
    """Deep fusion asks with the word and the last summary of the source: its formula has no decoder state."""
    for fusion in ("shallow", "deep"):
        model = small(fusion)
        memory = model.encode(SRC, LENGTHS)
        state = model.start(memory)
        other = state | {"tape": state["tape"] + 1.0}
        _, _, weights = model.step(memory, state, TGT_IN[:, 0], with_weights=True)
        _, _, moved = model.step(memory, other, TGT_IN[:, 0], with_weights=True)
        assert torch.allclose(moved, weights) == (fusion == "deep")


def test_only_deep_fusion_has_a_gate_and_keeps_the_memories_of_the_source():
    shallow, deep = small("shallow"), small("deep")
    assert shallow.gate is None and deep.gate is not None
    assert shallow.encode(SRC, LENGTHS)["values"].shape == (2, 5, HIDDEN)
    assert deep.encode(SRC, LENGTHS)["values"].shape == (2, 5, 2 * HIDDEN)


def test_another_fusion_is_refused():
    with pytest.raises(ValueError, match="fusion to be 'shallow' or 'deep', but got 'cold'"):
        small("cold")
