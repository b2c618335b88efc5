"""Answers to the exercises of lesson 02, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip), or names and numbers that it must contain. RIGHT has answers written differently from the
reference.
"""

import itertools

import torch
import torch.nn.functional as F

# ---- readers


def only_the_last(inputs, start, w_in, w_rec, bias):
    for i in range(inputs.shape[-2]):
        start = torch.tanh(inputs[..., i, :] @ w_in.T + start @ w_rec.T + bias)
    return start


def same_start(inputs, start, w_in, w_rec, bias):
    states = []
    for i in range(inputs.shape[-2]):
        new = torch.tanh(inputs[..., i, :] @ w_in.T + start @ w_rec.T + bias)
        states.append(new)
    return torch.stack(states, dim=-2)


def stacked_in_front(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states)


def over_sentences(join):
    def reader(inputs, start, w_in, w_rec, bias):
        states, state = [], start
        for word in inputs:
            state = torch.tanh(word @ w_in.T + state @ w_rec.T + bias)
            states.append(state)
        return join(states)

    return reader


def detached_each_step(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state.detach() @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def ends_early(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2] - 1):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def bias_twice(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for i in range(inputs.shape[-2]):
        state = torch.tanh(F.linear(inputs[..., i, :], w_in, bias) + F.linear(state, w_rec, bias))
        states.append(state)
    return torch.stack(states, dim=-2)


def zeros_first(inputs, start, w_in, w_rec, bias):
    state = torch.zeros(*inputs.shape[:-2], w_rec.shape[0])
    states = []
    for i in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., i, :] @ w_in.T + state @ w_rec.T + bias)
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


def rows_of_nudges(states, w_rec):
    rows = []
    for nudge in torch.eye(len(w_rec)):
        for state in states[1:]:
            nudge = (1 - state**2) * (w_rec @ nudge)
        rows.append(nudge)
    return torch.stack(rows)


def from_the_left(states, w_rec):
    product = torch.eye(len(w_rec))
    for state in states[1:]:
        product = product @ torch.diag(1 - state**2) @ w_rec
    return product


def matrix_power(states, w_rec):
    return torch.linalg.matrix_power(w_rec, len(states) - 1)


def norm_only(states, w_rec):
    return autograd_of_tanh(states, w_rec).norm()


def derivatives_only(states, w_rec):
    return torch.diag((1 - states[1:] ** 2).prod(0)) @ w_rec


def all_states(states, w_rec):
    product = torch.eye(len(w_rec))
    for state in states:
        product = torch.diag(1 - state**2) @ w_rec @ product
    return product


# ---- a slip each, without the helpers of the exercises


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


def row_derivatives(before, after, w_rec):
    return torch.diag(1 - after**2) @ w_rec


def shaped(change):
    """The right states in another shape or order; `change` also gets `start`."""
    return lambda inputs, start, *weights: change(plain_reader(inputs, start, *weights), start)


def joined(join):
    def reader(inputs, start, w_in, w_rec, bias):
        states = [start]
        for t in range(inputs.shape[-2]):
            states.append(torch.tanh(F.linear(inputs[..., t, :], w_in, bias) + F.linear(states[-1], w_rec)))
        return join(states[1:])

    return reader


def as_many_steps_as_sentences(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for t in range(len(inputs)):
        state = torch.tanh(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def always_the_first_word(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for _ in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., 0, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def word_at(index):
    def reader(inputs, start, w_in, w_rec, bias):
        states, state = [], start
        for t in range(inputs.shape[-2]):
            state = torch.tanh(inputs[..., index(t), :] @ w_in.T + state @ w_rec.T + bias)
            states.append(state)
        return torch.stack(states, dim=-2)

    return reader


def joined_from_second(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for t in range(1, inputs.shape[-2]):
        state = torch.tanh(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def same_tensor_again(inputs, start, w_in, w_rec, bias):
    states, state = [], start.clone()
    for t in range(inputs.shape[-2]):
        state[:] = torch.tanh(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


def always_a_batch(inputs, start, w_in, w_rec, bias):
    if inputs.dim() == 2:
        inputs, start = inputs[None], start[None]
    states, state = [], start
    for t in range(inputs.shape[1]):
        state = torch.tanh(inputs[:, t] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=1)


def own_tanh(numbers):
    return (torch.exp(2 * numbers) - 1) / (torch.exp(2 * numbers) + 1)


def derivatives_with(derivative):
    """The product with other derivatives, which are worked out from the state after each step."""
    return jacobians_with(lambda before, after, w: torch.diag(derivative(after)) @ w)


def only_steps(chosen):
    def product(states, w_rec):
        result = torch.eye(len(w_rec))
        for state in chosen(list(states[1:])):
            result = torch.diag(1 - state**2) @ w_rec @ result
        return result

    return product


def from_the_matrix(states, w_rec):
    product = w_rec
    for state in states[1:]:
        product = torch.diag(1 - state**2) @ w_rec @ product
    return product


def never_multiplied(states, w_rec):
    step = torch.eye(len(w_rec))
    for state in states[1:]:
        step = torch.diag(1 - state**2) @ w_rec
    return step


def derivatives_then_matrices(states, w_rec):
    derivatives = torch.ones(len(w_rec))
    for state in states[1:]:
        derivatives = derivatives * (1 - state**2)
    return torch.diag(derivatives) @ matrix_power(states, w_rec)


def derivatives_alone(states, w_rec):
    return torch.diag(torch.prod(1 - states[1:] ** 2, dim=0))


def without_inputs(states, w_rec):
    product, state = torch.eye(len(w_rec)), states[0]
    for _ in range(len(states) - 1):
        state = torch.tanh(w_rec @ state)
        product = torch.diag(1 - state**2) @ w_rec @ product
    return product


def needs_a_step(states, w_rec):
    steps = [torch.diag(1 - state**2) @ w_rec for state in states[1:]]
    product = steps[0]
    for step in steps[1:]:
        product = step @ product
    return product


def all_jacobians(states, w_rec):
    jacobians = [torch.eye(len(w_rec))]
    for state in states[1:]:
        jacobians.append(torch.diag(1 - state**2) @ w_rec)
    return torch.stack(jacobians)


def all_products(states, w_rec):
    products = [torch.eye(len(w_rec))]
    for state in states[1:]:
        products.append(torch.diag(1 - state**2) @ w_rec @ products[-1])
    return torch.stack(products)


def last_derivatives_everywhere(states, w_rec):
    jacobian = torch.eye(len(w_rec))
    for _ in states[1:]:
        jacobian = torch.diag(1 - states[-1] ** 2) @ w_rec @ jacobian
    return jacobian


def carries_the_sums(inputs, start, w_in, w_rec, bias):
    total, states = start, []
    for t in range(inputs.shape[-2]):
        total = inputs[..., t, :] @ w_in.T + total @ w_rec.T + bias
        states.append(torch.tanh(total))
    return torch.stack(states, dim=-2)


def returns_in_the_loop(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for t in range(inputs.shape[-2]):
        state = torch.tanh(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
        return torch.stack(states, dim=-2)


def first_step_from_the_matrix(states, w_rec):
    product = w_rec
    for state in states[2:]:
        product = torch.diag(1 - state**2) @ w_rec @ product
    return product


def keeps_the_sums(inputs, start, w_in, w_rec, bias):
    state, sums = start, []
    for t in range(inputs.shape[-2]):
        sums.append(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        state = torch.tanh(sums[-1])
    return torch.stack(sums, dim=-2)


WRONG = {
    "read_sequence": [
        (keeps_the_sums, "before-tanh"),
        (carries_the_sums, "sum-carried"),
        (returns_in_the_loop, "only-first"),
        (only_the_last, "only-last"),
        (same_start, "never-carried"),
        (stacked_in_front, "stacked-first"),
        (joined(lambda states: states), "stacked-first"),
        (joined(lambda states: torch.stack(states, 1)), "stacked-second"),
        (joined(lambda states: torch.stack(states, -1)), "stacked-last"),
        (joined(lambda states: torch.cat(states, -1)), "concatenated"),
        (over_sentences(torch.stack), "over-first-axis"),
        (over_sentences(lambda states: torch.stack(states, dim=-2)), "over-sentences"),
        (as_many_steps_as_sentences, "first-length"),
        (always_a_batch, "batch-axis-added"),
        (always_the_first_word, "same-input"),
        (word_at(lambda t: t - 1), "shifted-input"),
        (joined_from_second, "first-skipped"),
        (same_tensor_again, "all-last"),
        (reader_with(lambda x, h, w, u, b: torch.tanh(F.linear(x, w) * F.linear(h, u) + b)), "multiplied"),
        (detached_each_step, "no-gradient", "`start`"),
        (ends_early, "last-missing"),
        (shaped(lambda states, start: torch.cat([start.unsqueeze(-2), states], -2)), "start-included"),
        (shaped(lambda states, start: states.flip(-2)), "reversed-states"),
        (bias_twice, "bias-twice"),
        (zeros_first, "start-ignored"),
        (tanh_twice, None),
        (reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u, b)).tanh().tanh()), "tanh-twice"),
        (
            reader_with(lambda x, h, w, u, b: F.linear(x, w).tanh() + F.linear(h, u, b).tanh()),
            "separate-tanh",
        ),
        (reader_with(lambda x, h, w, u, b: F.linear(x, w) + F.linear(h, u, b)), "no-tanh"),
        (reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u, b)).sigmoid()), "sigmoid"),
        (reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u, b)).clamp(min=0)), "relu"),
        (reader_with(lambda x, h, w, u, b: own_tanh(F.linear(x, w) + F.linear(h, u, b))), "overflow"),
        (
            reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u.T, b)).tanh()),
            "recurrent-transposed",
        ),
        (reader_with(lambda x, h, w, u, b: (x @ w + h @ u.T + b).tanh()), "`w_in`"),
        (reader_with(lambda x, h, w, u, b: (x @ w + h @ u + b).tanh()), "neither-transposed"),
        (
            reader_with(lambda x, h, w, u, b: F.linear(x, w, b).tanh() + F.linear(h, u).tanh()),
            "separate-tanh-and-bias",
        ),
        (reader_with(lambda x, h, w, u, b: F.linear(x, w).tanh() + F.linear(h, u, b)), "tanh-of-input"),
        (
            reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u, b)).tanh() + h),
            "old-state-added",
        ),
        (reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u)).tanh()), "no-bias"),
        (reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u)).tanh() + b), "bias-outside"),
        (reader_with(lambda x, h, w, u, b: F.linear(x, w, b).tanh() + F.linear(h, u)), "state-outside"),
        (
            reader_with(lambda x, h, w, u, b: (F.linear(x, w) + F.linear(h, u, b)).tanh(), late=True),
            "one-step-late",
        ),
        (lambda x, h, w, u, b: plain_reader(x.flip(-2), h, w, u, b).flip(-2), "backwards"),
        (word_at(lambda t: -1 - t), "reversed-inputs"),
        (lambda x, h, w, u, b: F.linear(x, w, b).tanh(), "no-recurrence"),
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
        (lambda: [1, 1, 0], "all-ones"),
        (lambda: [1, 0, 0], "no-memory"),
    ],
    "product_of_jacobians": [
        (lambda states, w: sum((1 - state**2)[:, None] * w for state in states[1:]), "summed-by-sum"),
        (last_derivatives_everywhere, "same-step"),
        (rows_of_nudges, "transposed"),
        (from_the_left, "other-order"),
        (matrix_power, "no-derivatives"),
        (norm_only, "norm"),
        (derivatives_only, "one-matrix"),
        (derivatives_then_matrices, "derivatives-first"),
        (derivatives_alone, "no-matrix"),
        (all_states, "first-too"),
        (from_the_matrix, "extra-matrix"),
        (jacobians_with(row_derivatives, start=lambda n: torch.zeros(n, n)), "starts-from-zeros"),
        (jacobians_with(row_derivatives, start=lambda n: torch.ones(n, n)), "starts-from-ones"),
        (without_inputs, "recomputed-states"),
        (only_steps(lambda states: states[:-1]), "last-missing"),
        (only_steps(lambda states: states[1:]), "first-missing"),
        (never_multiplied, "last-only"),
        (only_steps(lambda states: states[:1]), "first-only"),
        (first_step_from_the_matrix, "first-without-derivatives"),
        (derivatives_with(lambda state: (1 - state) ** 2), "difference-squared"),
        (needs_a_step, "needs-a-step"),
        (jacobians_with(lambda before, after, w: torch.diag(1 - before**2) @ w), "derivatives-of-before"),
        (jacobians_with(lambda before, after, w: w @ torch.diag(1 - after**2)), "columns-scaled"),
        (derivatives_with(lambda state: 1 - state), "not-squared"),
        (derivatives_with(lambda state: state * state), "squares"),
        (derivatives_with(lambda state: 1 + state * state), "plus-squares"),
        (derivatives_with(lambda state: state - state * state), "sigmoid-derivatives"),
        (derivatives_with(lambda state: 1 - state.tanh().square()), "tanh-again"),
        (jacobians_with(lambda before, after, w: (1 - after**2).mean() * w), "mean-derivative"),
        (jacobians_with(lambda before, after, w: torch.diag(1 - after**2) @ w.T), "`w_rec`"),
        (jacobians_with(lambda before, after, w: (torch.diag(1 - after**2) @ w).T), "steps-transposed"),
        (jacobians_with(row_derivatives, join=torch.add, start=lambda n: torch.zeros(n, n)), "summed"),
        (jacobians_with(row_derivatives, join=torch.add), "added-to-identity"),
        (jacobians_with(row_derivatives, join=torch.mul, start=lambda n: torch.ones(n, n)), "elementwise"),
        (jacobians_with(row_derivatives, join=torch.mul), "elementwise-identity"),
        (lambda states, w: torch.stack([torch.diag(1 - h**2) @ w for h in states[1:]]), "each-step"),
        (all_jacobians, "each-step-and-identity"),
        (all_products, "each-product"),
    ],
}

RIGHT = {
    "read_sequence": [plain_reader, linear_reader, recursive_reader, einsum_reader],
    "wire_memory": [lambda: (5.0, 4.0, 0.0), lambda: [4, 3, 0], lambda: torch.tensor([3.8, 3.2, 0.01])],
    "product_of_jacobians": [autograd_of_tanh, collected_first, one_nudge_at_a_time],
}
