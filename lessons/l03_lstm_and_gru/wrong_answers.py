"""Answers to the exercises of lesson 03, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip) or a part of its text. RIGHT has answers written differently from the reference.
"""

from __future__ import annotations

import math
from itertools import permutations

import torch
from torch.nn import functional as F

# ---- half_life


def counts_steps(forget_bias):
    gate, left, steps = 1 / (1 + math.exp(-forget_bias)), 1.0, 0
    while left > 0.5:
        left, steps = left * gate, steps + 1
    return float(steps)


def counts_one_more(forget_bias):
    gate, left, steps = 1 / (1 + math.exp(-forget_bias)), 1.0, 0
    while left >= 0.5:
        left, steps = left * gate, steps + 1
    return steps


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


# ---- bias_for


def gate_of(steps):
    return 2 ** (-1 / steps)


def bias_of_gate(gate):
    return lambda steps: -math.log(1 / gate(steps) - 1)


def linear_loss(steps):
    gate = (steps - 0.5) / steps
    return math.log(gate / (1 - gate))


def steps_as_lifetime(steps):
    gate = (steps - 1) / steps
    return math.log(gate / (1 - gate))


def by_bisection(steps, low=-50.0, high=50.0):
    for _ in range(200):
        middle = (low + high) / 2
        if softplus_life(middle) < steps:
            low = middle
        else:
            high = middle
    return middle


def by_expm1(steps):
    return -math.log(math.expm1(math.log(2) / steps))


def torch_logit(steps):
    return torch.logit(torch.tensor(0.5, dtype=torch.float64) ** (1 / steps)).item()


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


def forgets_less(x, hidden, cell, w_x, w_h, b):
    scores, k = x @ w_x.T + hidden @ w_h.T + b, cell.shape[-1]
    write, keep, show = (torch.sigmoid(scores[:, s]) for s in (slice(k), slice(k, 2 * k), slice(3 * k, None)))
    keep = torch.sigmoid(torch.logit(keep.double()) + 1).float()
    new_cell = keep * cell + write * torch.tanh(scores[:, 2 * k : 3 * k])
    return show * torch.tanh(new_cell), new_cell


def multiplies_matrices(turned):
    def cell_step(x, hidden, cell, w_x, w_h, b):
        i, f, g, o = (F.linear(x, w_x, b) + F.linear(hidden, w_h)).chunk(4, dim=-1)
        new = f.sigmoid() @ turned(cell) + i.sigmoid() @ turned(g.tanh())
        return o.sigmoid() @ new.tanh(), new

    return cell_step


def shows_candidate(x, hidden, cell, w_x, w_h, b):
    _, _, g, o = (x @ w_x.T + hidden @ w_h.T + b).chunk(4, dim=-1)
    return torch.sigmoid(o) * torch.tanh(g), linear_lstm(x, hidden, cell, w_x, w_h, b)[1]


def adds_hidden(x, hidden, cell, w_x, w_h, b):
    new_hidden, new_cell = linear_lstm(x, hidden, cell, w_x, w_h, b)
    return new_hidden + hidden, new_cell


def scores_of_an_rnn(x, hidden, cell, w_x, w_h, b):
    i, f, g, o = torch.tanh(x @ w_x.T + hidden @ w_h.T + b).chunk(4, dim=-1)
    cell = usual_cell(i, f, g, cell)
    return o.sigmoid() * cell.tanh(), cell


WRONG = {
    "half_life": [
        (counts_steps, "whole-steps"),
        (counts_one_more, "next-step"),
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
        (lambda bias: 0.5 * (1 + math.exp(-bias)), "half-over-gate"),
        (lambda bias: math.log(2 / usual_gate(bias)), "difference"),
        (lambda bias: math.log(2 / math.log1p(math.exp(-bias))), "log-of-quotient"),
        (lambda bias: math.log(2 * usual_gate(bias)), "sum"),
        (lambda bias: math.e**bias, "exponential"),
        (lambda bias: max(1.0, softplus_life(bias)), "at-least-one"),
        (lambda bias: 2 ** -(1 + math.exp(-bias)), "root"),
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
        (lstm_with(usual_cell, order=(3, 1, 2, 0)), "output-first"),
        *(
            (lstm_with(usual_cell, order=order), f"order-{''.join(map(str, order))}")
            for order in permutations(range(4))
            if sum(i == block for i, block in enumerate(order)) < 2
        ),
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
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + i.sigmoid() * F.relu(g)), "relu-candidate"),
        (
            lstm_with(
                lambda i, f, g, old: F.softmax(f, -1) * old + F.softmax(i, -1) * g.tanh(),
                lambda o, new, old: F.softmax(o, -1) * new.tanh(),
            ),
            "softmax-gates",
        ),
        (lstm_with(lambda i, f, g, old: torch.lerp(old, g.tanh(), i.sigmoid())), "coupled-to-input"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + (-i).sigmoid() * g.tanh()), "one-minus-input"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * (old + i.sigmoid() * g.tanh())), "forgets-new"),
        (lstm_with(lambda i, f, g, old: usual_cell(i, f, g, old.tanh())), "squashed-old-cell"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old + i.sigmoid() + g.tanh()), "gates-added"),
        (lstm_with(lambda i, f, g, old: f.sigmoid() * old - i.sigmoid() * g.tanh()), "subtracted"),
        (lstm_with(lambda i, f, g, old: f * old + i * g, lambda o, new, old: o * new), "linear"),
        (lstm_with(lambda i, f, g, old: f * old + i * g, lambda o, new, old: o * new.tanh()), "linear-cell"),
        (lstm_with(usual_cell, lambda o, new, old: (o.sigmoid() * new).tanh()), "tanh-outside"),
        (lstm_with(usual_cell, lambda o, new, old: (-o).sigmoid() * new.tanh()), "one-minus-output"),
        (multiplies_matrices(lambda factor: factor), "matrix-products"),
        (multiplies_matrices(lambda factor: factor.T), "matrix-products-transposed"),
        (shows_candidate, "shows-candidate"),
        (adds_hidden, "hidden-added"),
        (lstm_with(usual_cell, factors=(1, 1, 2)), "bias-twice"),
        (scores_of_an_rnn, "squashed-scores"),
        (lstm_with(usual_cell, factors=(1, 1, 0)), "no-bias"),
        (lstm_with(usual_cell, factors=(1, 0, 1)), "no-state"),
        (lstm_with(usual_cell, factors=(0, 1, 1)), "no-word"),
        (lambda x, hidden, cell, w_x, w_h, b: torch_lstm(x, cell, cell, w_x, w_h, b), "gates-from-cell"),
    ],
    "bias_for": [
        (gate_of, "gate-only"),
        (lambda steps: usual_gate(gate_of(steps)), "sigmoid-again"),
        (lambda steps: -math.log(2) / steps, "log-gate"),
        (lambda steps: math.log(2) / steps, "minus-log-gate"),
        (lambda steps: math.log(1 - gate_of(steps)), "log-leak"),
        (lambda steps: math.log(1 / (1 - gate_of(steps))), "minus-log-leak"),
        (lambda steps: gate_of(steps) / (1 - gate_of(steps)), "odds"),
        (lambda steps: 1 / gate_of(steps) - 1, "inverse-odds"),
        (lambda steps: math.log((1 - gate_of(steps)) / gate_of(steps)), "sign"),
        (lambda steps: math.atanh(gate_of(steps)), "inverse-tanh"),
        (lambda steps: -math.log(1 / gate_of(steps) + 1), "plus-one"),
        (lambda steps: math.log(1 / gate_of(steps) + 1), "plus-one-positive"),
        (lambda steps: math.log(gate_of(steps) * (1 - gate_of(steps))), "product"),
        (bias_of_gate(lambda steps: 0.5 / steps), "half-over-steps"),
        (bias_of_gate(lambda steps: math.log(2) / steps), "rate-as-gate"),
        (lambda steps: softplus_life(gate_of(steps)), "half-life-as-gate"),
        (bias_of_gate(lambda steps: 0.5**steps), "half-to-the-steps"),
        (bias_of_gate(lambda steps: math.e ** (-1 / steps)), "time-constant"),
        (bias_of_gate(lambda steps: math.e ** (-2 / steps)), "two-over"),
        (softplus_life, "forward-formula"),
        (lambda steps: math.log(steps), "log-of-steps"),
        (lambda steps: math.log(1.4426950408889634 * steps), "large-bias-rule"),
        (lambda steps: math.log10(gate_of(steps) / (1 - gate_of(steps))), "log10"),
        (lambda steps: math.log2(gate_of(steps) / (1 - gate_of(steps))), "log2"),
        (lambda steps: by_expm1(2 * steps), "twice-the-steps"),
        (lambda steps: by_expm1(0.5 * steps), "half-the-steps"),
        (lambda steps: math.log(gate_of(steps)) / (1 - gate_of(steps)), "log-over-leak"),
        (lambda steps: math.log(gate_of(steps)) / math.log(1 - gate_of(steps)), "quotient-of-logs"),
        (lambda steps: 1 / softplus_life(steps), "reciprocal-half-life"),
        (lambda steps: 1 / steps, "reciprocal-steps"),
        (bias_of_gate(lambda steps: 1 / steps), "reciprocal-odds"),
        (lambda steps: -softplus_life(steps), "reciprocal-negative"),
        (lambda steps: math.log(steps, 2), "log2-of-steps"),
        (lambda steps: math.log(steps, 10), "log10-of-steps"),
        (lambda steps: float(f"{by_expm1(steps):.0f}"), "rounded-0"),
        (lambda steps: float(f"{by_expm1(steps):.1f}"), "rounded-1"),
        (lambda steps: float(f"{by_expm1(steps):.2f}"), "rounded-2"),
        (lambda steps: float(f"{by_expm1(steps):.3f}"), "rounded-3"),
        (linear_loss, "linear-gate"),
        (steps_as_lifetime, "mean-lifetime"),
        (bias_of_gate(lambda steps: round(gate_of(steps), 2)), "rounded-gate-2"),
        (bias_of_gate(lambda steps: round(gate_of(steps), 3)), "rounded-gate-3"),
        (bias_of_gate(lambda steps: round(gate_of(steps), 4)), "rounded-gate-4"),
        (lambda steps: by_expm1(int(steps)), "whole-steps"),
        (lambda steps: by_bisection(steps, 0.0, 5.0), None),
        (lambda steps: 4.74, None),
    ],
}

RIGHT = {
    "half_life": [softplus_life, torch_life, log_ratio],
    "lstm_cell": [linear_lstm, sliced_lstm, torch_lstm, joined_lstm],
    "bias_for": [by_bisection, by_expm1, torch_logit],
}
