"""Luong, compared with the paper's formulas for every score and window, and its own properties."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.layers.cells import lstm_cell
from course_lib.models.luong import Luong, LuongConfig

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
    """One sentence without padding, one word at a time, with explicit sums."""
    config, table, scale = system.config, system.words.output.weight, EMBED**0.5

    def step(stack, word, states):
        new = []
        for (layer,), (hidden, cell) in zip(stack.layers, states, strict=True):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = {name: getattr(layer, f"{name}_l0") for name in names}
            new.append(lstm_cell(word[None], hidden[None], cell[None], **weights))
            new[-1] = tuple(tensor[0] for tensor in new[-1])
            word = new[-1][0]
        return word, new

    zeros = torch.zeros(HIDDEN, dtype=torch.float64)
    states, keys = [(zeros, zeros)] * config.n_layers, []
    positions = range(len(src))
    for position in [*positions[-2::-1], positions[-1]] if config.reverse else positions:  # EOS stays last
        top, states = step(system.encoder, table[src[position]] * scale, states)
        keys.append((position, top))
    keys = [top for _, top in sorted(keys, key=lambda pair: pair[0])]  # in the order of the words

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
        top, states = step(
            system.decoder, torch.cat([embedded, fed]) if config.input_feeding else embedded, states
        )
        if config.window == "local-p":
            w_p, v_p = system.centres.w_p.weight, system.centres.v_p.weight[0]
            centre = (len(keys) * torch.sigmoid(v_p @ torch.tanh(w_p @ top))).item()
        else:
            centre = min(t, len(keys) - 1)
        reach = math.inf if config.window == "global" else config.half_width
        window = [j for j in range(len(keys)) if centre - reach <= j <= centre + reach]
        window_weights = torch.stack([score(top, j) for j in window]).softmax(dim=0)
        if config.window == "local-p":
            sigma = config.half_width / 2
            gaussian = [math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j in window]
            window_weights = window_weights * torch.tensor(gaussian, dtype=torch.float64)
        weights.append(torch.zeros(len(keys), dtype=torch.float64))
        weights[-1][window] = window_weights
        context = sum(weight * keys[j] for weight, j in zip(window_weights, window, strict=True))
        fed = torch.tanh(system.combine.weight @ torch.cat([context, top]))
        logits.append(system.words.logits(fed))
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize("input_feeding", [True, False], ids=["feeding", "no feeding"])
@pytest.mark.parametrize("window", ["global", "local-m", "local-p"])
@pytest.mark.parametrize("score", ["dot", "general", "concat", "location"])
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


# ---- its own properties


def test_local_m_counts_the_steps_of_each_row():
    """Rows can be at different steps, as in a search: each has its own centre."""
    system = make(window="local-m", half_width=1)
    memory = system.encode(SRC[:1].repeat(2, 1), LENGTHS[:1].repeat(2))
    state = system.start(memory) | {"step": torch.tensor([1, 5])}
    _, state, weights = system.step(memory, state, torch.tensor([7, 7]), with_weights=True)
    assert state["step"].tolist() == [2, 6]
    assert weights[:, 0, 0].gt(0).int().tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0]]


@pytest.mark.parametrize("size", [-1e6, 1e6], ids=["at the first word", "after the last"])
def test_local_p_at_either_end_still_attends_to_a_word(size):
    system = make(window="local-p", half_width=1, score="dot")
    with torch.no_grad():
        system.centres.v_p.weight.copy_(size * system.centres.v_p.weight.sign())
        _, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.isfinite().all() and weights.sum(dim=-1).gt(0).all()


def test_dropout_is_applied_before_the_output_layer_but_not_to_the_fed_back_features():
    system = make(dropout=0.5, n_layers=1)
    memory, embedded = system.encode(SRC, LENGTHS), torch.ones(2, EMBED, dtype=torch.float64)
    (features, state, _), (other, _, _) = (system.walk(memory, system.start(memory), embedded) for _ in "ab")
    assert torch.equal(features, other) and torch.equal(features, state["fed"])
    assert not torch.equal(system.logits(features), system.logits(features))
