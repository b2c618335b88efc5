"""Answers to the exercises of lesson 02, as learners write them.

WRONG has answers that no slip of exercises.py repeats, each with the slip that the verdict must name
(None: no slip), or names and numbers that it must contain. RIGHT has answers written differently from the
reference.
"""

import itertools

import torch
import torch.nn.functional as F

# ---- readers


def detached_each_step(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state.detach() @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def tanh_twice(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2]):
        state = torch.tanh(torch.tanh(inputs[..., i, :] @ w_in.T) + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def plain_reader(inputs, start, w_in, w_rec, bias):
    state, states = start, []
    for i in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def linear_reader(inputs, start, w_in, w_rec, bias):
    states = []
    for word in inputs.unbind(dim=-2):
        start = torch.tanh(F.linear(word, w_in, bias) + F.linear(start, w_rec))
        states.append(start.unsqueeze(-2))
    return torch.cat(states, dim=-2)


def recursive_reader(inputs, start, w_in, w_rec, bias):
    if inputs.shape[-2] == 0:
        return inputs.new_zeros(*start.shape[:-1], 0, start.shape[-1])
    first = torch.tanh(inputs[..., 0, :] @ w_in.T + start @ w_rec.T + bias)
    rest = recursive_reader(inputs[..., 1:, :], first, w_in, w_rec, bias)
    return torch.cat([first[..., None, :], rest], dim=-2)


def einsum_reader(inputs, start, w_in, w_rec, bias):
    brought = torch.einsum("...nd,hd->...nh", inputs, w_in) + bias
    states = [start]
    for i in range(inputs.shape[-2]):
        states.append(torch.tanh(brought[..., i, :] + torch.einsum("...k,hk->...h", states[-1], w_rec)))
    return torch.stack(states[1:], dim=-2)


# ---- products of Jacobians


def autograd_of_tanh(states, w_rec):
    product = torch.eye(len(w_rec))
    for state in states[1:]:
        product = torch.diag(1 - state * state) @ w_rec @ product
    return product


def collected_first(states, w_rec):
    steps = [torch.diag(1 - state.square()) @ w_rec for state in states[1:]]
    product = torch.eye(len(w_rec))
    for step in reversed(steps):
        product = product @ step
    return product


def one_nudge_at_a_time(states, w_rec):
    columns = []
    for nudge in torch.eye(len(w_rec)):
        for state in states[1:]:
            nudge = (1 - state**2) * (w_rec @ nudge)
        columns.append(nudge)
    return torch.stack(columns, dim=1)


def reader_with(step, late=False):
    """A reader that repeats a step, and keeps the state after it, or `late`: the one before."""

    def reader(inputs, start, w_in, w_rec, bias):
        states = [start]
        for i in range(inputs.shape[-2]):
            states.append(step(inputs[..., i, :], states[-1], w_in, w_rec, bias))
        return torch.stack(states[:-1] if late else states[1:], dim=-2)

    return reader


def jacobians_with(factor, join=lambda new, old: new @ old, start=torch.eye):
    def product(states, w_rec):
        result = start(len(w_rec))
        for before, after in itertools.pairwise(states):
            result = join(factor(before, after, w_rec), result)
        return result

    return product


WRONG = {
    "read_sequence": [
        (detached_each_step, "no-gradient", "`start`"),
        (tanh_twice, None),
        (reader_with(lambda x, h, w, u, b: (x @ w + h @ u.T + b).tanh()), "`w_in`"),
    ],
    "wire_memory": [
        (lambda: (1.0, 0.9, 0.0), "0.76", "0.00", "`u`"),
        (lambda: (3.0, 0.0, 0.0), "`u`"),
        (lambda: (3.0, -3.0, 0.0), "`u`"),
        (lambda: (1.0, 1.05, 0.0), "0.37", "tanh(u"),
        (lambda: (0.5, 3.0, 2.5), "1.00 after +1", "1.00 after −1"),
        (lambda: (3.5, 3.0, -1.5), "`b` = -1.5"),
        (lambda: (0.0, 3.0, 0.0), "`w`"),
        (lambda: (-3.5, 3.0, 0.0), "`w`"),
        (lambda: (8.0, 3.0, 0.0), "`w`"),
        (lambda: (1.4, 1.5, 0.0), "`u`"),
        (lambda: (3.5, 3.0, 0.3), "`b` = 0.3"),
        (lambda: (1.0, 3.0, 0.0), "0.99", "`w`"),
        (lambda: (3.2, 3.0, 0.35), "`b` = 0.35"),
        (lambda: (3.5, 3.0), "`return w, u, b`"),
        (lambda: {3.5, 3.0, 0.0}, "`return w, u, b`"),
        (lambda: {"w": 3.5, "u": 3.0, "b": 0.0}, "`return w, u, b`"),
        (lambda: ("3.5", "3.0", "0.0"), None),
        (lambda: (float("nan"), 3.0, 0.0), None),
        (lambda: (torch.tensor([3.5, 3.5]), 3.0, 0.0), "single number"),
        (lambda: (3.5, 3.0, None), "single number"),
        (lambda: 3.0, "a float"),
        (lambda: torch.rand(3), "random"),
    ],
    "product_of_jacobians": [
        (jacobians_with(lambda before, after, w: torch.diag(1 - after**2) @ w.T), "`w_rec`"),
    ],
}

RIGHT = {
    "read_sequence": [plain_reader, linear_reader, recursive_reader, einsum_reader],
    "wire_memory": [lambda: (5.0, 4.0, 0.0), lambda: [4, 3, 0], lambda: torch.tensor([3.8, 3.2, 0.01])],
    "product_of_jacobians": [autograd_of_tanh, collected_first, one_nudge_at_a_time],
}
