"""Answers to the exercises of lesson 03, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip) or a part of its text. RIGHT has answers written differently from the reference.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from lessons.l03_lstm_and_gru.exercises import design_memory

# ---- shared by several answers


def design_with(**changes):
    def design(lag):
        return design_memory(lag) | changes

    return design


def gru_candidate(x, hidden, w_x, w_h, b_x, b_h):
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    return (gi[2] + (gi[0] + gh[0]).sigmoid() * gh[2]).tanh()


def counter_with(forget=20.0, write=20.0, candidate=20.0, base=0.0):
    def weights(symbol, n_symbols):
        w_x = torch.zeros(4, n_symbols)
        w_x[2, symbol] = candidate - base
        return w_x, torch.tensor([write, forget, base, 0.0])

    return weights


# ---- half_life


def counts_steps(forget_bias):
    gate, left, steps = 1 / (1 + math.exp(-forget_bias)), 1.0, 0
    while left > 0.5:
        left, steps = left * gate, steps + 1
    return float(steps)


LN2 = math.log(2)


def life_of(gate, above=LN2, log=math.log):
    """A half-life written with a gate of one's own."""
    return lambda forget_bias: above / -log(gate(forget_bias))


def usual_gate(forget_bias):
    return 1 / (1 + math.exp(-forget_bias))


def bias_as_gate(forget_bias):
    return math.log(2) / -math.log(forget_bias)


def sign_in_exponent(forget_bias):
    return math.log(2) / -math.log(1 / (1 + math.exp(forget_bias)))


def parentheses(forget_bias):
    gate = 1 / 1 + math.exp(-forget_bias)
    return math.log(2) / -math.log(gate)


def gate_in_float32(forget_bias):
    gate = 1 / (1 + torch.exp(-torch.tensor(forget_bias)))
    return (math.log(2) / -torch.log(gate)).item()


def softplus_life(forget_bias):
    return math.log(2) / math.log1p(math.exp(-forget_bias))


def torch_life(forget_bias):
    return math.log(2) / -F.logsigmoid(torch.tensor(forget_bias)).item()


def log_ratio(forget_bias):
    return math.log(0.5, torch.sigmoid(torch.tensor(forget_bias, dtype=torch.float64)).item())


# ---- lstm_cell


def linear_lstm(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = torch.split(F.linear(x, w_x, b) + F.linear(hidden, w_h), cell.shape[-1], dim=-1)
    cell = cell * f.sigmoid() + i.sigmoid() * g.tanh()
    return cell.tanh() * o.sigmoid(), cell


def sliced_lstm(x, hidden, cell, w_x, w_h, b):
    k = hidden.shape[1]
    score = [x @ w_x[j : j + k].T + hidden @ w_h[j : j + k].T + b[j : j + k] for j in (0, k, 2 * k, 3 * k)]
    new_cell = torch.sigmoid(score[1]) * cell + torch.sigmoid(score[0]) * torch.tanh(score[2])
    return [torch.sigmoid(score[3]) * torch.tanh(new_cell), new_cell]


def torch_lstm(x, hidden, cell, w_x, w_h, b):
    return torch.lstm_cell(x, (hidden, cell), w_x, w_h, b, torch.zeros_like(b))


def joined_lstm(x, hidden, cell, w_x, w_h, b):
    scores = torch.cat([x, hidden], dim=1) @ torch.cat([w_x, w_h], dim=1).T + b
    i, f, g, o = scores.view(len(x), 4, -1).unbind(dim=1)
    cell = torch.addcmul(torch.sigmoid(f) * cell, torch.sigmoid(i), torch.tanh(g))
    return torch.sigmoid(o) * torch.tanh(cell), cell


def forget_first(x, hidden, cell, w_x, w_h, b):
    f, i, g, o = (F.linear(x, w_x) + F.linear(hidden, w_h, b)).chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def one_minus(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (F.linear(x, w_x) + F.linear(hidden, w_h, b)).chunk(4, -1)
    cell = (1 - f.sigmoid()) * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def cell_first(x, hidden, cell, w_x, w_h, b):
    return tuple(reversed(linear_lstm(x, hidden, cell, w_x, w_h, b)))


def only_hidden(x, hidden, cell, w_x, w_h, b):
    return linear_lstm(x, hidden, cell, w_x, w_h, b)[0]


def untransposed(x, hidden, cell, w_x, w_h, b):
    return x @ w_x + hidden @ w_h + b, cell


def chunk_rows(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + hidden @ w_h.T + b).chunk(4, dim=0)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def detached_lstm(x, hidden, cell, w_x, w_h, b):
    return linear_lstm(x, hidden, cell.detach(), w_x, w_h, b)


def overwrites_cell(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + hidden @ w_h.T + b).chunk(4, dim=-1)
    cell *= torch.sigmoid(f)
    cell += torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def every_fourth(x, hidden, cell, w_x, w_h, b):
    scores = F.linear(x, w_x, b) + F.linear(hidden, w_h)
    i, f, g, o = scores.unflatten(-1, (-1, 4)).unbind(-1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def four_first(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (F.linear(x, w_x, b) + F.linear(hidden, w_h)).view(4, *hidden.shape)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def drops_batch(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + hidden @ w_h.T + b).squeeze(0).chunk(4, dim=-1)
    cell = f.sigmoid() * cell.squeeze(0) + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def keeps_tanh(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = (x @ w_x.T + hidden @ w_h.T + b).chunk(4, dim=-1)
    cell = torch.tanh(torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g))
    return torch.sigmoid(o) * cell, cell


# ---- design_memory


def by_search(lag):
    bias = 0.0
    while (1 / (1 + math.exp(-bias))) ** lag <= 0.55:
        bias += 0.01
    return design_with(forget_bias=bias)(lag)


def with_logit(lag):
    gate = torch.tensor(0.5, dtype=torch.float64) ** (1 / (1.5 * lag))
    return design_with(forget_bias=torch.logit(gate).item(), write_bias=-15, write_mark=30, new_sign=1)(lag)


def with_log_of_lag(lag):
    return design_with(forget_bias=math.log(3 * lag), forget_mark=-100.0)(lag)


def three_numbers(lag):
    return {"forget_bias": 4.0, "write_bias": -10.0, "write_mark": 20.0}


# ---- gru_cell


def torch_gru(x, hidden, w_x, w_h, b_x, b_h):
    return torch.gru_cell(x, hidden, w_x, w_h, b_x, b_h)


def sliced_gru(x, hidden, w_x, w_h, b_x, b_h):
    reset_x, keep_x, new_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    w_reset, w_keep, w_new = w_h.chunk(3)
    b_reset, b_keep, b_new = b_h.chunk(3)
    reset = torch.sigmoid(reset_x + hidden @ w_reset.T + b_reset)
    keep = torch.sigmoid(keep_x + hidden @ w_keep.T + b_keep)
    new = torch.tanh(new_x + reset * (hidden @ w_new.T + b_new))
    return (1 - keep) * new + keep * hidden


def lerp_gru(x, hidden, w_x, w_h, b_x, b_h):
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    r, z = (gi[0] + gh[0]).sigmoid(), (gi[1] + gh[1]).sigmoid()
    return torch.lerp((gi[2] + r * gh[2]).tanh(), hidden, z)


def gru_module(x, hidden, w_x, w_h, b_x, b_h):
    n = gru_candidate(x, hidden, w_x, w_h, b_x, b_h)
    _, z_x, _ = F.linear(x, w_x, b_x).chunk(3, -1)
    _, z_h, _ = F.linear(hidden, w_h, b_h).chunk(3, -1)
    z = nn.Sigmoid()(z_x + z_h)
    return n + z * (hidden - n)


def only_product_reset(x, hidden, w_x, w_h, b_x, b_h):
    k = hidden.shape[-1]
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    r, z = (gi[0] + gh[0]).sigmoid(), (gi[1] + gh[1]).sigmoid()
    new = (gi[2] + r * (hidden @ w_h[2 * k :].T) + b_h[2 * k :]).tanh()
    return (1 - z) * new + z * hidden


def as_chung(x, hidden, w_x, w_h, b_x, b_h):
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    z = (gi[1] + gh[1]).sigmoid()
    return (1 - z) * hidden + z * gru_candidate(x, hidden, w_x, w_h, b_x, b_h)


def still_cho(x, hidden, w_x, w_h, b_x, b_h):
    k = hidden.shape[-1]
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    r, z = (gi[0] + gh[0]).sigmoid(), (gi[1] + gh[1]).sigmoid()
    return (1 - z) * (gi[2] + F.linear(r * hidden, w_h[2 * k :], b_h[2 * k :])).tanh() + z * hidden


def candidate_alone(x, hidden, w_x, w_h, b_x, b_h):
    return gru_candidate(x, hidden, w_x, w_h, b_x, b_h)


def without_reset(x, hidden, w_x, w_h, b_x, b_h):
    gi, gh = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
    z = (gi[1] + gh[1]).sigmoid()
    return (1 - z) * (gi[2] + gh[2]).tanh() + z * hidden


def keeps_more(x, hidden, w_x, w_h, b_x, b_h):
    return torch_gru(x, hidden, w_x, w_h, b_x, b_h) + hidden


# ---- counter_weights


def gate_looks(symbol, n_symbols):
    w_x = torch.full((4, n_symbols), -30.0)
    w_x[0, symbol] = 30.0
    w_x[1:3] = 30.0
    return w_x, torch.zeros(4)


def counts_backwards(symbol, n_symbols):
    return counter_with(candidate=-20.0)(symbol, n_symbols)


def both_look(symbol, n_symbols):
    row = F.one_hot(torch.tensor(symbol), n_symbols).float()
    return torch.stack([40 * row, 0 * row, 15 * row, row]), torch.tensor([-20.0, 25.0, 0.0, 0.0])


def transposed_counter(symbol, n_symbols):
    w_x, b = counter_with()(symbol, n_symbols)
    return w_x.T, b


def next_symbol(symbol, n_symbols):
    return counter_with()((symbol + 1) % n_symbols, n_symbols)


# ---- a slip each, without the helpers of the exercises


def lstm_with(
    cell_of, hidden_of=lambda o, new, old: o.sigmoid() * new.tanh(), order=(0, 1, 2, 3), factors=(1, 1, 1)
):
    """Another new cell, another way to show it, another order of blocks, or factors of the inputs."""

    def cell_step(x, hidden, cell, w_x, w_h, b):
        of_x, of_h, of_b = factors
        blocks = (of_x * F.linear(x, w_x) + of_h * F.linear(hidden, w_h) + of_b * b).chunk(4, -1)
        i, f, g, o = (blocks[block] for block in order)
        new = cell_of(i, f, g, cell)
        return hidden_of(o, new, cell), new

    return cell_step


def usual_cell(i, f, g, old):
    return f.sigmoid() * old + i.sigmoid() * g.tanh()


def gru_with(mix):
    """Another mix of reset gate, update gate, the candidate's two parts and the old state."""

    def gru(x, hidden, w_x, w_h, b_x, b_h):
        of_x, of_h = F.linear(x, w_x, b_x).chunk(3, -1), F.linear(hidden, w_h, b_h).chunk(3, -1)
        return mix((of_x[0] + of_h[0]).sigmoid(), (of_x[1] + of_h[1]).sigmoid(), of_x[2], of_h[2], hidden)

    return gru


def forgets_less(x, hidden, cell, w_x, w_h, b):
    scores, k = x @ w_x.T + hidden @ w_h.T + b, cell.shape[-1]
    write, keep, show = (torch.sigmoid(scores[:, s]) for s in (slice(k), slice(k, 2 * k), slice(3 * k, None)))
    keep = torch.sigmoid(torch.logit(keep.double()) + 1).float()
    new_cell = keep * cell + write * torch.tanh(scores[:, 2 * k : 3 * k])
    return show * torch.tanh(new_cell), new_cell


WRONG = {
    "half_life": [
        (counts_steps, "whole-steps"),
        (bias_as_gate, "bias-as-gate"),
        (sign_in_exponent, "gate-of-minus-b"),
        (parentheses, "negative"),
        (gate_in_float32, "float32-gate"),
        (life_of(usual_gate, log=math.log10), "log10-below"),
        (life_of(usual_gate, log=math.log2), "log2-below"),
        (life_of(usual_gate, above=math.log10(2)), "log10-above"),
        (life_of(usual_gate, above=math.log2(2)), "time-constant"),
        (life_of(usual_gate, above=0.5), "half-above"),
        (lambda bias: 1 / math.log(usual_gate(bias)), "negative-time-constant"),
        (lambda bias: math.log1p(math.exp(-bias)), "rate-only"),
        (lambda bias: round(softplus_life(bias), 1), "one-decimal"),
        (lambda bias: float(f"{softplus_life(bias):.2f}"), "two-decimals"),
        (life_of(math.tanh), "tanh-gate"),
        (life_of(lambda bias: float(f"{usual_gate(bias):.2f}")), "rounded-gate"),
        (lambda bias: math.log(2) / (1 - usual_gate(bias)), "leak-for-log"),
        (lambda bias: math.log(2) / math.log(usual_gate(bias)), "negative"),
        (lambda bias: None, "returns-none"),
        (lambda bias: 1 + math.exp(bias), "one-over-leak"),
        (lambda bias: (1 + math.exp(bias)) / 2, "half-over-leak"),
        (lambda bias: math.exp(bias) * math.log(2), "large-bias-rule"),
        (lambda bias: math.log(2) / bias, "bias-as-rate"),
        (lambda bias: math.log2(1 + math.exp(-bias)), "upside-down"),
        (lambda bias: math.log2(usual_gate(bias)), "upside-down-negative"),
        (lambda bias: math.log(2) * -math.log(usual_gate(bias)), "multiplies"),
        (usual_gate, "gate-only"),
        (lambda bias: math.log(2) / usual_gate(bias), "no-log"),
        (lambda bias: round(math.log(2) / math.log1p(math.exp(-bias))), "nearest-step"),
        (lambda bias: int(math.log(2) / math.log1p(math.exp(-bias)) + 1e-12), "full-steps"),
        (lambda bias: 2.0, None),
    ],
    "lstm_cell": [
        (forgets_less, "forget-bias-added"),
        (forget_first, "forget-first"),
        (one_minus, "one-minus-forget"),
        (cell_first, "swapped-outputs"),
        (only_hidden, "missing-output"),
        (untransposed, "raises"),
        (chunk_rows, "raises"),
        (detached_lstm, "no-gradient"),
        (overwrites_cell, "in-place"),
        (keeps_tanh, "squashed-cell"),
        (every_fourth, "interleaved"),
        (four_first, "mixed-rows"),
        (drops_batch, "squeezed"),
        (lambda x, hidden, cell, *w: (linear_lstm(x, hidden, cell, *w)[0], cell), "returns-old-cell"),
        (lambda x, hidden, cell, *w: torch_lstm(x, hidden, hidden, *w), "keeps-hidden"),
        (lstm_with(usual_cell, order=(0, 1, 3, 2)), "output-third"),
        (lstm_with(usual_cell, order=(2, 1, 0, 3)), "candidate-first"),
        (lstm_with(usual_cell, order=(0, 2, 1, 3)), "candidate-second"),
        (lstm_with(usual_cell, order=(0, 3, 2, 1)), "forget-last"),
        (lstm_with(usual_cell, order=(1, 0, 3, 2)), "output-third-forget-first"),
        (lstm_with(usual_cell, order=(3, 2, 1, 0)), None),
        (
            lstm_with(
                lambda i, f, g, old: f * old + i * g.tanh(),
                lambda o, new, old: o * new.tanh(),
            ),
            "raw-gates",
        ),
        (lstm_with(lambda *given: usual_cell(*given).tanh()), "squashed-twice"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + i * g.tanh()), "raw-input"),
        (lstm_with(lambda i, f, g, old: f * old + i.sigmoid() * g.tanh()), "raw-forget"),
        (lstm_with(usual_cell, lambda o, new, old: o * new.tanh()), "raw-output"),
        (
            lstm_with(
                lambda i, f, g, old: f.sigmoid() * old + (i.sigmoid() * g.sigmoid()),
                lambda o, new, old: o.sigmoid() * new.sigmoid(),
            ),
            "sigmoids-only",
        ),
        (lambda *given: [linear_lstm(*given)[0], linear_lstm(*given)[0]], "hidden-twice"),
        (lstm_with(usual_cell, lambda o, new, old: o.sigmoid() * new.sigmoid()), "sigmoid-out"),
        (lstm_with(usual_cell, lambda o, new, old: new.tanh()), "output-unused"),
        (lstm_with(lambda i, f, g, old: old * (f.sigmoid() * i.sigmoid() * g.tanh())), "multiplied"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + i.sigmoid() * g.sigmoid()), "sigmoid-candidate"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + i.sigmoid() * g), "raw-candidate"),
        (lstm_with(usual_cell, lambda o, new, old: o.sigmoid() * new), "no-tanh-out"),
        (lstm_with(usual_cell, lambda o, new, old: o.sigmoid() * old.tanh()), "shows-old-cell"),
        (lstm_with(lambda i, f, g, old: i.sigmoid() * g.tanh()), "nothing-kept"),
        (lstm_with(lambda i, f, g, old: old + i.sigmoid() * g.tanh()), "all-kept"),
        (lstm_with(lambda i, f, g, old: torch.lerp(g.tanh(), old, f.sigmoid())), "coupled"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + g.tanh()), "input-unused"),
        (
            lstm_with(
                lambda i, f, g, old: f.tanh() * old + i.tanh() * g.tanh(),
                lambda o, new, old: o.tanh() * new.tanh(),
            ),
            "tanh-gates",
        ),
        (lstm_with(usual_cell, factors=(1, 1, 0)), "no-bias"),
        (lstm_with(usual_cell, factors=(1, 0, 1)), "no-state"),
        (lstm_with(usual_cell, factors=(0, 1, 1)), "no-word"),
        (lambda x, hidden, cell, w_x, w_h, b: torch_lstm(x, cell, cell, w_x, w_h, b), "gates-from-cell"),
    ],
    "design_memory": [
        (design_with(forget_bias=1.0), "after 40 steps; more than half should be"),
        (design_with(forget_bias=10.0), "four times the lag"),
        (design_with(forget_bias=5.0), "four times the lag"),
        (design_with(forget_mark=0.0), "the old content must go"),
        (design_with(write_bias=0.0), "gets into the cell too"),
        (design_with(write_mark=0.0), "should get in"),
        (design_with(new_sign=-5.0), "should get in"),
        (design_with(write_bias=float("nan")), "is not a finite number"),
        (three_numbers, "`forget_mark` is missing"),
    ],
    "gru_cell": [
        (only_product_reset, "bias-outside"),
        (as_chung, "blend-turned-round"),
        (still_cho, "unrepaired"),
        (candidate_alone, None),
        (without_reset, "no-reset"),
        (keeps_more, None),
        (gru_with(lambda r, z, x, h, old: torch.lerp((r * x + r * h).tanh(), old, z)), "resets-the-word"),
        (gru_with(lambda r, z, x, h, old: (1 - z) * (x + r * h).tanh() + r * z * old), "resets-twice"),
        (gru_with(lambda r, z, x, h, old: torch.lerp(x + r * h, old, z)), "no-tanh"),
        (gru_with(lambda z, r, x, h, old: torch.lerp((x + r * h).tanh(), old, z)), "update-first"),
    ],
    "counter_weights": [
        (counter_with(forget=3.0), "It fades"),
        (counter_with(write=0.0), "it should hold 1"),
        (counter_with(candidate=1.0), "it should hold 1"),
        (counter_with(base=5.0), "leaves 1.00 in the cell"),
        (counts_backwards, "holds -1.00"),
        (transposed_counter, "Two tensors are wanted"),
        (next_symbol, "it should hold 1"),
    ],
}

RIGHT = {
    "half_life": [softplus_life, torch_life, log_ratio],
    "lstm_cell": [linear_lstm, sliced_lstm, torch_lstm, joined_lstm],
    "design_memory": [by_search, with_logit, with_log_of_lag, design_with()],
    "gru_cell": [torch_gru, sliced_gru, lerp_gru, gru_module],
    "counter_weights": [counter_with(), gate_looks, both_look],
}
