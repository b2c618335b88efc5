"""Cells by hand against torch's own, against plain Python, and what an open forget gate gives."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import nn

from course_lib.layers.cells import (
    GRUCell,
    LSTMCell,
    RNNCell,
    gru_cell,
    in_own_precision,
    lstm_cell,
    remember_at_first,
    rnn_cell,
)

BATCH, INPUT, HIDDEN = 3, 5, 4
CELLS = {  # ours by hand, our module, torch's module
    "rnn": (rnn_cell, RNNCell, nn.RNNCell),
    "lstm": (lstm_cell, LSTMCell, nn.LSTMCell),
    "gru": (gru_cell, GRUCell, nn.GRUCell),
}
every_kind = pytest.mark.parametrize("kind", CELLS)


def inputs(kind: str, dtype: torch.dtype):
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0), dtype=dtype)
    n_states = 2 if kind == "lstm" else 1
    return draw(BATCH, INPUT), *(draw(BATCH, HIDDEN) for _ in range(n_states))


def flat(outcome):
    return outcome if isinstance(outcome, tuple) else (outcome,)


@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_by_hand_fused_and_torchs_own_agree_with_gradients(kind, dtype):
    by_hand, module, theirs = CELLS[kind]
    torch.manual_seed(0)
    ours, theirs = module(input_size=INPUT, hidden=HIDDEN).to(dtype), theirs(INPUT, HIDDEN).to(dtype)
    theirs.load_state_dict(ours.state_dict())  # same names, same shapes

    def run(cell):
        leaves = [tensor.requires_grad_() for tensor in inputs(kind, dtype)]
        ours.zero_grad()
        theirs.zero_grad()
        new = flat(cell(*leaves))
        sum(part.square().sum() for part in new).backward()
        owner = theirs if cell is torch_cell else ours
        return [*new, *(leaf.grad for leaf in leaves), *(weight.grad for weight in owner.parameters())]

    def torch_cell(x, *state):
        return theirs(x, state if kind == "lstm" else state[0])

    expected = run(torch_cell)
    close = partial(torch.testing.assert_close, rtol=0, atol=1e-12 if dtype == torch.float64 else 2e-6)
    close(run(ours), expected)
    close(run(partial(by_hand, **dict(ours.named_parameters()))), expected)


@every_kind
def test_autocast_around_a_module_changes_nothing(kind):
    module = CELLS[kind][1](input_size=INPUT, hidden=HIDDEN)
    halves = [tensor.bfloat16() for tensor in inputs(kind, torch.float32)]
    expected = flat(module(*(tensor.float() for tensor in halves)))
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(flat(module(*halves)), expected)


def test_in_own_precision_knows_devices_without_autocast():
    with in_own_precision(torch.device("meta")):
        pass
    with torch.autocast("cpu", torch.bfloat16), in_own_precision(torch.device("cpu")):
        assert not torch.is_autocast_enabled("cpu")


def test_an_lstm_worked_by_hand():
    """One number each; every weight of the input is 1, so that each gate sees 2 · 1 + its bias."""
    write, forget, new, show = -2.0, 1.0, -1.5, 0.5
    weights = {"weight_ih": torch.ones(4, 1), "weight_hh": torch.zeros(4, 1)}
    weights |= {"bias_ih": torch.tensor([write, forget, new, show]), "bias_hh": torch.zeros(4)}
    hidden, cell = lstm_cell(torch.tensor([2.0]), torch.tensor([9.0]), torch.tensor([3.0]), **weights)

    def sigmoid(number):
        return 1 / (1 + math.exp(-number))

    expected = sigmoid(2 + forget) * 3 + sigmoid(2 + write) * math.tanh(2 + new)
    assert cell.item() == pytest.approx(expected)
    assert hidden.item() == pytest.approx(sigmoid(2 + show) * math.tanh(expected))


def test_the_reset_gate_of_the_gru_acts_after_the_product_and_not_before_as_in_cho():
    """U mixes the two numbers of the state, so it matters which of the two is done first."""
    weight_hh = torch.zeros(6, 2)
    weight_hh[4:] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])  # new content: the state, swapped
    bias = torch.tensor([9.0, -9.0, -99.0, -99.0, 0.0, 0.0])  # reset about (1, 0), keep nothing
    hidden = torch.tensor([0.3, 0.7])
    new = gru_cell(
        torch.zeros(1),
        hidden,
        weight_ih=torch.zeros(6, 1),
        weight_hh=weight_hh,
        bias_ih=bias,
        bias_hh=torch.zeros(6),
    )
    torch.testing.assert_close(new, torch.tensor([math.tanh(0.7), 0.0]), atol=1e-3, rtol=0)
    assert not torch.allclose(new, torch.tensor([0.0, math.tanh(0.3)]), atol=1e-3)


@every_kind
def test_a_single_state_without_a_batch_will_do(kind):
    by_hand, module, _ = CELLS[kind]
    weights = dict(module(input_size=INPUT, hidden=HIDDEN).double().named_parameters())
    whole = flat(by_hand(*inputs(kind, torch.float64), **weights))
    one = flat(by_hand(*(tensor[1] for tensor in inputs(kind, torch.float64)), **weights))
    torch.testing.assert_close(one, tuple(part[1] for part in whole))


def test_an_lstm_starts_by_remembering():
    """Ten words of nothing: a fresh LSTM keeps 1/23 of its cell, with forget biases of 0 it keeps 1/1000."""
    torch.manual_seed(0)
    kept = []
    for fresh in (True, False):
        cell = LSTMCell(input_size=1, hidden=50)
        if not fresh:
            with torch.no_grad():
                cell.bias_ih[50:100] = 0
        with torch.no_grad():
            cell.weight_hh.zero_()
            state = torch.zeros(1, 50), torch.full((1, 50), 1000.0)
            for _ in range(10):
                state = cell(torch.zeros(1, 1), *state)
        kept.append(state[1].mean().item() / 1000)
    assert kept[0] == pytest.approx(1 / 23, rel=0.05) and kept[1] == pytest.approx(1 / 1000, rel=0.1)


def test_remembering_touches_the_forget_gate_alone():
    bias_ih, bias_hh = torch.arange(12.0), torch.arange(12.0)
    remember_at_first(bias_ih, bias_hh)
    assert bias_ih.tolist() == [0, 1, 2, 1, 1, 1, 6, 7, 8, 9, 10, 11]
    assert bias_hh.tolist() == [0, 1, 2, 0, 0, 0, 6, 7, 8, 9, 10, 11]


@every_kind
@pytest.mark.parametrize("wrong", ["inputs", "state", "batch"])
def test_a_wrong_width_is_named(kind, wrong):
    by_hand, module, _ = CELLS[kind]
    cell = module(input_size=INPUT, hidden=HIDDEN)
    x, *state = inputs(kind, torch.float32)
    x = x[:, 1:] if wrong == "inputs" else x
    state[0] = {"inputs": state[0], "state": state[0][:, 1:], "batch": state[0][:1]}[wrong]
    for run in (cell, partial(by_hand, **dict(cell.named_parameters()))):
        with pytest.raises(
            ValueError, match=f"Expected inputs of width {INPUT} and one state of width {HIDDEN}"
        ):
            run(x, *state)


def test_whole_numbers_are_refused():
    with pytest.raises(TypeError, match="Expected inputs to hold decimal numbers"):
        GRUCell(input_size=INPUT, hidden=HIDDEN)(
            torch.ones(1, INPUT, dtype=torch.int64), torch.zeros(1, HIDDEN)
        )
