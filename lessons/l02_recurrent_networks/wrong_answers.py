"""Answers to the exercises of lesson 02, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip), or names and numbers that it must contain. RIGHT has answers written differently from the
reference.
"""

import itertools
import math

import torch
import torch.nn.functional as F

from lessons.l02_recurrent_networks.exercises import read_sequence

# ---- shared by several answers


def random_inputs():
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, 4, 5), (2, 3), (3, 5), (3, 3), (3,))
    return [torch.randn(shape, generator=generator) for shape in shapes]


def total_norm(gradients):
    return math.sqrt(sum((gradient**2).sum().item() for gradient in gradients))


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


def over_sentences(inputs, start, w_in, w_rec, bias):
    states, state = [], start
    for word in inputs:
        state = torch.tanh(word @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states)


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


# ---- tests of a reader


def test_by_formula(reader):
    torch.testing.assert_close(reader(*random_inputs()), read_sequence(*random_inputs()))


def test_by_hand(reader):
    inputs, start = torch.tensor([[1.0], [0.5], [0.0]]), torch.tensor([0.3, -0.2])
    w_in, bias = torch.tensor([[1.0], [-1.0]]), torch.tensor([0.1, 0.2])
    w_rec = torch.tensor([[0.5, 1.0], [0.0, 2.0]])
    states, state = reader(inputs, start, w_in, w_rec, bias), start
    for i in range(3):
        state = torch.tanh(w_in @ inputs[i] + w_rec @ state + bias)
        assert torch.allclose(states[i], state, atol=1e-5)


def test_by_torch(reader):
    inputs, start, w_in, w_rec, bias = random_inputs()
    rnn = torch.nn.RNN(5, 3, batch_first=True)
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(w_in)
        rnn.weight_hh_l0.copy_(w_rec)
        rnn.bias_ih_l0.copy_(bias)
        rnn.bias_hh_l0.zero_()
        expected = rnn(inputs, start[None])[0]
    torch.testing.assert_close(reader(inputs, start, w_in, w_rec, bias), expected)


def only_shape(reader):
    assert reader(*random_inputs()).shape == (2, 4, 3)


def only_range(reader):
    assert reader(*random_inputs()).abs().max() <= 1


def from_zeros(reader):
    inputs, start, *weights = random_inputs()
    start = torch.zeros_like(start)
    torch.testing.assert_close(reader(inputs, start, *weights), read_sequence(inputs, start, *weights))


def one_word(reader):
    inputs, *rest = random_inputs()
    torch.testing.assert_close(reader(inputs[:, :1], *rest), read_sequence(inputs[:, :1], *rest))


def exactly_equal(reader):
    assert torch.equal(
        reader(*random_inputs()).double(), read_sequence(*(part.double() for part in random_inputs()))
    )


def says_false(reader):
    return torch.allclose(reader(*random_inputs()), read_sequence(*random_inputs()))


def never_calls(reader):
    assert callable(reader)


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


def slopes_only(states, w_rec):
    return torch.diag((1 - states[1:] ** 2).prod(0)) @ w_rec


def all_states(states, w_rec):
    product = torch.eye(len(w_rec))
    for state in states:
        product = torch.diag(1 - state**2) @ w_rec @ product
    return product


# ---- clipping


def by_flat_vector(gradients, limit):
    total = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    return gradients if total <= limit else [gradient * (limit / total) for gradient in gradients]


def by_squares(gradients, limit):
    squares = sum((gradient**2).sum().item() for gradient in gradients)
    factor = min(1.0, limit / math.sqrt(squares))
    return tuple(factor * gradient for gradient in gradients)


def by_norms(gradients, limit):
    total = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients]).norm()
    return [gradient / torch.clamp(total / limit, min=1) for gradient in gradients]


def in_place(gradients, limit):
    total = total_norm(gradients)
    for gradient in gradients:
        gradient.mul_(min(1.0, limit / total))
    return gradients


def one_by_one(gradients, limit):
    return [gradient * min(1.0, limit / gradient.norm().item()) for gradient in gradients]


def each_to_the_limit(gradients, limit):
    return [limit * gradient / torch.linalg.vector_norm(gradient) for gradient in gradients]


def stretches(gradients, limit):
    total = total_norm(gradients)
    return [gradient * limit / total for gradient in gradients]


def by_the_largest(gradients, limit):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return [gradient * min(1.0, limit / largest) for gradient in gradients]


def returns_nothing(gradients, limit):
    torch.cat([gradient.flatten() for gradient in gradients]).norm()


def cuts_the_length(gradients, limit):
    total = total_norm(gradients)
    return [gradient - max(0.0, total - limit) for gradient in gradients]


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


def row_slopes(before, after, w_rec):
    return torch.diag(1 - after**2) @ w_rec


def clip_with(factor):
    """All gradients times one factor, which is worked out from all their numbers and the limit."""

    def clip(gradients, limit):
        numbers = torch.cat([gradient.flatten() for gradient in gradients])
        return [gradient * factor(numbers, limit) for gradient in gradients]

    return clip


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


def slopes_with(slope):
    """The product with other slopes, which are worked out from the state after each step."""
    return jacobians_with(lambda before, after, w: torch.diag(slope(after)) @ w)


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


def slopes_then_matrices(states, w_rec):
    slopes = torch.ones(len(w_rec))
    for state in states[1:]:
        slopes = slopes * (1 - state**2)
    return torch.diag(slopes) @ matrix_power(states, w_rec)


def slopes_alone(states, w_rec):
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


def last_slopes_everywhere(states, w_rec):
    jacobian = torch.eye(len(w_rec))
    for _ in states[1:]:
        jacobian = torch.diag(1 - states[-1] ** 2) @ w_rec @ jacobian
    return jacobian


def keeps_the_sums(inputs, start, w_in, w_rec, bias):
    state, sums = start, []
    for t in range(inputs.shape[-2]):
        sums.append(inputs[..., t, :] @ w_in.T + state @ w_rec.T + bias)
        state = torch.tanh(sums[-1])
    return torch.stack(sums, dim=-2)


WRONG = {
    "read_sequence": [
        (keeps_the_sums, "before-tanh"),
        (only_the_last, "only-last"),
        (same_start, "never-carried"),
        (stacked_in_front, "stacked-first"),
        (joined(lambda states: states), "stacked-first"),
        (joined(lambda states: torch.stack(states, 1)), "stacked-second"),
        (joined(lambda states: torch.stack(states, -1)), "stacked-last"),
        (joined(lambda states: torch.cat(states, -1)), "concatenated"),
        (over_sentences, "over-first-axis"),
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
        (lambda x, h, w, u, b: F.linear(x, w, b).tanh(), "no-recurrence"),
    ],
    "test_reader": [
        (only_shape, "lets-through"),
        (only_range, "lets-through"),
        (from_zeros, "lets-through", "`start`"),
        (one_word, "lets-through"),
        (exactly_equal, "rejects-the-right-one"),
        (says_false, "returns-instead"),
        (never_calls, "never-calls"),
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
        (lambda: 3.0, "a float"),
        (lambda: torch.rand(3), "random"),
        (lambda: [1, 1, 0], "all-ones"),
        (lambda: [1, 0, 0], "no-memory"),
    ],
    "product_of_jacobians": [
        (lambda states, w: sum((1 - state**2)[:, None] * w for state in states[1:]), "summed-by-sum"),
        (last_slopes_everywhere, "same-step"),
        (rows_of_nudges, "transposed"),
        (from_the_left, "other-order"),
        (matrix_power, "no-slopes"),
        (norm_only, "norm"),
        (slopes_only, "one-matrix"),
        (slopes_then_matrices, "slopes-first"),
        (slopes_alone, "no-matrix"),
        (all_states, "first-too"),
        (from_the_matrix, "extra-matrix"),
        (jacobians_with(row_slopes, start=lambda n: torch.zeros(n, n)), "starts-from-zeros"),
        (jacobians_with(row_slopes, start=lambda n: torch.ones(n, n)), "starts-from-ones"),
        (without_inputs, "recomputed-states"),
        (only_steps(lambda states: states[:-1]), "last-missing"),
        (only_steps(lambda states: states[1:]), "first-missing"),
        (never_multiplied, "last-only"),
        (needs_a_step, "raises"),
        (jacobians_with(lambda before, after, w: torch.diag(1 - before**2) @ w), "slopes-of-before"),
        (jacobians_with(lambda before, after, w: w @ torch.diag(1 - after**2)), "columns-scaled"),
        (slopes_with(lambda state: 1 - state), "not-squared"),
        (slopes_with(lambda state: state * state), "squares"),
        (slopes_with(lambda state: 1 + state * state), "plus-squares"),
        (slopes_with(lambda state: state - state * state), "sigmoid-slopes"),
        (slopes_with(lambda state: 1 - state.tanh().square()), "tanh-again"),
        (jacobians_with(lambda before, after, w: (1 - after**2).mean() * w), "mean-slope"),
        (jacobians_with(lambda before, after, w: torch.diag(1 - after**2) @ w.T), "`w_rec`"),
        (jacobians_with(lambda before, after, w: (torch.diag(1 - after**2) @ w).T), "steps-transposed"),
        (jacobians_with(row_slopes, join=torch.add, start=lambda n: torch.zeros(n, n)), "summed"),
        (jacobians_with(row_slopes, join=torch.add), "added-to-identity"),
        (jacobians_with(row_slopes, join=torch.mul, start=lambda n: torch.ones(n, n)), "elementwise"),
        (jacobians_with(row_slopes, join=torch.mul), "elementwise-identity"),
        (lambda states, w: torch.stack([torch.diag(1 - h**2) @ w for h in states[1:]]), "each-step"),
    ],
    "clip_gradients": [
        (in_place, "in-place"),
        (one_by_one, "each-by-itself"),
        (each_to_the_limit, "each-to-the-limit"),
        (stretches, "always-scaled"),
        (by_the_largest, None),
        (returns_nothing, "returns-none"),
        (cuts_the_length, None),
        (clip_with(lambda numbers, limit: min(1.0, limit / numbers.square().sum())), "not-the-root"),
        (clip_with(lambda numbers, limit: 1 / max(numbers.norm(), limit)), "unit-length"),
        (clip_with(lambda numbers, limit: 0.0 if numbers.norm() > limit else 1.0), "thrown-away"),
        (clip_with(lambda numbers, limit: min(1.0, limit / numbers.abs().sum())), "sum-of-sizes"),
    ],
}

RIGHT = {
    "read_sequence": [plain_reader, linear_reader, recursive_reader, einsum_reader],
    "test_reader": [test_by_formula, test_by_hand, test_by_torch],
    "wire_memory": [lambda: (5.0, 4.0, 0.0), lambda: [4, 3, 0], lambda: torch.tensor([3.8, 3.2, 0.01])],
    "product_of_jacobians": [autograd_of_tanh, collected_first, one_nudge_at_a_time],
    "clip_gradients": [by_flat_vector, by_squares, by_norms],
}
