"""Luong against the paper's formulas for every score and window, and what is its own."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.layers.cells import lstm_cell
from course_lib.models.luong import SCORES, WINDOWS, Luong, LuongConfig

HIDDEN, EMBED, MAX_LEN = 6, 4, 9
SRC = torch.tensor([[7, 8, 9, 5, 11, 12, 13, 3], [6, 10, 3, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([8, 3])
TGT_IN = torch.tensor([[2, 7, 8, 9, 5], [2, 5, 6, 7, 9]])


def make(*, seed: int = 0, **settings) -> Luong:
    torch.manual_seed(seed)
    sizes = {"vocab_size": 20, "embed": EMBED, "hidden": HIDDEN, "max_len": MAX_LEN}
    settings = {"n_layers": 2, "half_width": 2} | settings
    return Luong(LuongConfig(**sizes, **settings)).double()


def by_the_paper(system: Luong, src: torch.Tensor, tgt_in: torch.Tensor):
    """One sentence without padding, one word at a time, every sum spelled out."""
    config, table, scale = system.config, system.words.output.weight, EMBED**0.5

    def move(stack, word, states):
        new = []
        for (layer,), (hidden, cell) in zip(stack.layers, states, strict=True):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = {name: getattr(layer, f"{name}_l0") for name in names}
            new.append(lstm_cell(word[None], hidden[None], cell[None], **weights))
            new[-1] = tuple(part[0] for part in new[-1])
            word = new[-1][0]
        return word, new

    nothing = torch.zeros(HIDDEN, dtype=torch.float64)
    states, keys = [(nothing, nothing)] * config.n_layers, []
    places = range(len(src))
    for place in [*places[-2::-1], places[-1]] if config.reverse else places:  # EOS stays the last
        top, states = move(system.encoder, table[src[place]] * scale, states)
        keys.append((place, top))
    keys = [top for _, top in sorted(keys, key=lambda pair: pair[0])]  # a state belongs to its word

    def score(top, j):
        if config.score == "dot":
            return top @ keys[j]
        if config.score == "general":
            return top @ system.score.weight @ keys[j]
        if config.score == "concat":
            weight = torch.cat([system.score.w_query, system.score.w_key], dim=1)
            return system.score.v @ torch.tanh(weight @ torch.cat([top, keys[j]]))
        return system.score.weight[j] @ top

    fed = torch.zeros(EMBED, dtype=torch.float64)
    logits, weights = [], []
    for t, word in enumerate(tgt_in.tolist()):
        embedded = table[word] * scale
        top, states = move(
            system.decoder, torch.cat([embedded, fed]) if config.input_feeding else embedded, states
        )
        if config.window == "local-p":
            w_p, v_p = system.centres.w_p.weight, system.centres.v_p.weight[0]
            centre = (len(keys) * torch.sigmoid(v_p @ torch.tanh(w_p @ top))).item()
        else:
            centre = min(t, len(keys) - 1)
        reach = math.inf if config.window == "global" else config.half_width
        seen = [j for j in range(len(keys)) if centre - reach <= j <= centre + reach]
        shares = torch.stack([score(top, j) for j in seen]).softmax(dim=0)
        if config.window == "local-p":
            sigma = config.half_width / 2
            bell = [math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j in seen]
            shares = shares * torch.tensor(bell, dtype=torch.float64)
        weights.append(torch.zeros(len(keys), dtype=torch.float64))
        weights[-1][seen] = shares
        context = sum(share * keys[j] for share, j in zip(shares, seen, strict=True))
        fed = torch.tanh(system.combine.weight @ torch.cat([context, top]))
        logits.append(system.words.logits(fed))
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize("input_feeding", [True, False], ids=["feeding", "no feeding"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("score", SCORES)
@torch.no_grad()
def test_equals_the_papers_formulas(score, window, input_feeding):
    system = make(score=score, window=window, input_feeding=input_feeding, reverse=score == "concat")
    logits, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.shape == (2, 1, 1, 5, 8)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, expected_weights = by_the_paper(system, SRC[row, :length], TGT_IN[row])
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, 0, 0, :, :length], expected_weights)
        assert weights[row, ..., length:].eq(0).all()


# ---- what is its own


def test_local_m_counts_the_steps_of_each_row():
    """Rows at different steps, as a search may have them: each has its own place in the source."""
    system = make(window="local-m", half_width=1)
    memory = system.encode(SRC[:1].repeat(2, 1), LENGTHS[:1].repeat(2))
    state = system.start(memory) | {"step": torch.tensor([1, 5])}
    _, state, weights = system.step(memory, state, torch.tensor([7, 7]), with_weights=True)
    assert state["step"].tolist() == [2, 6]
    assert weights[:, 0, 0].gt(0).int().tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0]]


@pytest.mark.parametrize("sure", [-1e6, 1e6], ids=["before the first word", "behind the last"])
def test_local_p_at_the_very_ends_still_sees_a_word(sure):
    system = make(window="local-p", half_width=1, score="dot")
    with torch.no_grad():
        system.centres.v_p.weight.copy_(sure * system.centres.v_p.weight.sign())
        _, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.isfinite().all() and weights.sum(dim=-1).gt(0).all()


def test_dropout_acts_before_the_vocabulary_but_not_on_what_is_fed():
    system = make(dropout=0.5, n_layers=1)
    memory, embedded = system.encode(SRC, LENGTHS), torch.ones(2, EMBED, dtype=torch.float64)
    (one, state, _), (other, _, _) = (system.walk(memory, system.start(memory), embedded) for _ in "ab")
    assert torch.equal(one, other) and torch.equal(one, state["fed"])
    assert not torch.equal(system.logits(one), system.logits(one))
