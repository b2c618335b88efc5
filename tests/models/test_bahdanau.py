"""Bahdanau, compared with the paper's formulas word by word."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.cells import gru_cell
from course_lib.models.bahdanau import Bahdanau, BahdanauConfig

HIDDEN, EMBED = 6, 4
SRC, LENGTHS = torch.tensor([[7, 8, 9, 5, 3], [6, 3, 0, 0, 0]]), torch.tensor([5, 2])
TGT_IN = torch.tensor([[2, 7, 8, 9], [2, 5, 6, 7]])


@pytest.fixture
def system() -> Bahdanau:
    torch.manual_seed(0)
    return Bahdanau(BahdanauConfig(vocab_size=20, embed=EMBED, hidden=HIDDEN)).double()


def weights_of(layer) -> dict[str, torch.Tensor]:
    return {name: getattr(layer, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}


def by_the_paper(system: Bahdanau, src: torch.Tensor, tgt_in: torch.Tensor):
    """One sentence without padding, one word at a time, with explicit sums."""
    table, scale = system.words.output.weight, EMBED**0.5
    source = [table[word] * scale for word in src.tolist()]
    forward, backward = ([], [])
    for states, layer, words in (
        (forward, system.encoder.layers[0][0], source),
        (backward, system.encoder.layers[0][1], source[::-1]),
    ):
        hidden = torch.zeros(1, HIDDEN, dtype=torch.float64)
        for word in words:
            hidden = gru_cell(word[None], hidden, **weights_of(layer))
            states.append(hidden[0])
    annotations = [torch.cat(pair) for pair in zip(forward, backward[::-1], strict=True)]

    state = torch.tanh(system.first_state(backward[-1]))  # its last state belongs to the first word
    logits, weights = [], []
    for word in tgt_in.tolist():
        embedded = table[word] * scale
        scores = [
            system.score.v @ torch.tanh(system.score.w_query @ state + system.score.w_key @ annotation)
            for annotation in annotations
        ]
        weights.append(torch.stack(scores).softmax(dim=0))
        context = sum(
            weight * annotation for weight, annotation in zip(weights[-1], annotations, strict=True)
        )
        state = gru_cell(
            torch.cat([embedded, context])[None], state[None], **dict(system.decoder.named_parameters())
        )[0]
        pairs = system.maxout.candidates(torch.cat([state, embedded, context])).view(EMBED, 2)
        logits.append(system.words.logits(torch.stack([max(pair) for pair in pairs])))
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.slow
def test_equals_the_papers_formulas(system):
    logits, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.shape == (2, 1, 1, 4, 5)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, expected_weights = by_the_paper(system, SRC[row, :length], TGT_IN[row])
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, 0, 0, :, :length], expected_weights)
        assert weights[row, ..., length:].eq(0).all()


def test_keys_are_projected_once_in_encode(system):
    memory = system.encode(SRC, LENGTHS)
    torch.testing.assert_close(memory["keys"], memory["annotations"] @ system.score.w_key.mT)
    with torch.no_grad():
        state = system.start(memory)
        before = system.step(memory, state, TGT_IN[:, 0])[0]
        system.score.w_key.zero_()
        assert torch.equal(system.step(memory, state, TGT_IN[:, 0])[0], before)
