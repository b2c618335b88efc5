"""The solutions of lesson 03: its notebook shows them, and the checks compare answers with them."""

import math

import torch


def lstm_cell(x, hidden, cell, w_x, w_h, b):
    """x (batch, input_size), hidden and cell (batch, hidden_size),
    w_x (4 * hidden_size, input_size), w_h (4 * hidden_size, hidden_size),
    b (4 * hidden_size)  ->  new_hidden, new_cell: both (batch, hidden_size)
    """
    # solution
    sums = x @ w_x.T + hidden @ w_h.T + b
    i, f, g, o = sums.chunk(4, dim=-1)
    kept = torch.sigmoid(f) * cell
    new_cell = kept + torch.sigmoid(i) * torch.tanh(g)
    new_hidden = torch.sigmoid(o) * torch.tanh(new_cell)
    return new_hidden, new_cell
    # end solution


def bias_for(steps):
    """steps: a half-life, a number above 1  ->  the forget bias, a number"""
    # solution
    gate = 0.5 ** (1 / steps)
    return math.log(gate / (1 - gate))
    # end solution
