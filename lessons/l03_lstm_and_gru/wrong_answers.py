"""Answers to the exercises of lesson 03, as learners write them.

WRONG has answers that no slip of exercises.py repeats, each with the slip that the verdict must name
(None: no slip) or a part of its text. RIGHT has answers written differently from the reference.
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

# ---- half_life


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


# ---- bias_for


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


WRONG = {
    "half_life": [
        (lambda bias: None, "returns-none"),
        (lambda bias: 2.0, None),
    ],
    "lstm_cell": [
        (cell_first, "swapped-outputs"),
        (only_hidden, "missing-output"),
        (untransposed, "raises"),
        (chunk_rows, "raises"),
        (detached_lstm, "no-gradient"),
        (overwrites_cell, "in-place"),
    ],
    "bias_for": [
        (lambda steps: by_bisection(steps, 0.0, 5.0), None),
        (lambda steps: 4.74, None),
    ],
}

RIGHT = {
    "half_life": [softplus_life, torch_life, log_ratio],
    "lstm_cell": [linear_lstm, sliced_lstm, torch_lstm, joined_lstm],
    "bias_for": [by_bisection, by_expm1, torch_logit],
}
