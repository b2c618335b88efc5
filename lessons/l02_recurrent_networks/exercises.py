"""The exercises of lesson 02: an RNN, a signal stored with weights chosen by hand, a product of Jacobians."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from course_lib.formatting import fixed
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    RandomInput,
    Slip,
    TensorExercise,
    gaussian,
)

LESSON = "recurrent_networks"


# ---- processing a sequence

stack_states = partial(torch.stack, dim=-2)


def by_loop(
    step: Callable, *, first: Callable | None = None, keeps: str = "after", join: Callable = stack_states
) -> Callable:
    """An RNN that repeats one step. `first` maps the initial state, `keeps` says which state of a step to
    return, and `join` makes one tensor of the states."""

    def reader(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
        state, states = first(start) if first else start, []
        for word in inputs.unbind(-2):
            before, state = state, step(word, state, w_in, w_rec, bias)
            states.append(before if keeps == "before" else state)
        return join(states)

    return reader


def rnn_step(word: Tensor, state: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(word @ w_in.T + state @ w_rec.T + bias)


read_sequence = by_loop(rnn_step)


def with_states(change: Callable) -> Callable:
    """The right states, changed; `change` also gets `inputs` and `start`."""
    return lambda inputs, start, *weights: change(read_sequence(inputs, start, *weights), inputs, start)


def with_inputs(change: Callable) -> Callable:
    """The right function with other inputs."""
    return lambda inputs, *rest: read_sequence(change(inputs), *rest)


def never_carried(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(inputs @ w_in.T + (start @ w_rec.T)[..., None, :] + bias)


def backwards(inputs: Tensor, *given: Tensor) -> Tensor:
    return read_sequence(inputs.flip(-2), *given).flip(-2)


def over_first_axis(join: Callable) -> Callable:
    def reader(inputs: Tensor, start: Tensor, *weights: Tensor) -> Tensor:
        state, states = start, []
        for word in inputs:
            state = rnn_step(word, state, *weights)
            states.append(state)
        return join(states)

    return reader


def tanh_by_exp(total: Tensor) -> Tensor:
    return (total.exp() - (-total).exp()) / (total.exp() + (-total).exp())


def as_many_sentences_as_words() -> tuple[Tensor, ...]:
    """A loop over the wrong axis then fits, and returns wrong numbers instead of failing."""
    generator = torch.Generator("cpu").manual_seed(20)
    shapes = ((3, 3, 2), (3, 4), (4, 2), (4, 4), (4,))
    return tuple(torch.randn(shape, generator=generator, dtype=torch.float32) for shape in shapes)


READ_SEQUENCE = TensorExercise(
    name="read_sequence",
    lesson=LESSON,
    inputs={
        "inputs": gaussian("*batch n d"),
        "start": gaussian("*batch h"),
        "w_in": gaussian("h d"),
        "w_rec": gaussian("h h"),
        "bias": gaussian("h"),
    },
    returns={"states": "*batch n h"},
    sizes={"batch": (2, 3), "n": 5, "d": 4, "h": 6},
    others=(as_many_sentences_as_words,),
    reference=read_sequence,
    by_hand=ByHand(
        inputs={
            "inputs": [[1.0], [0.0], [0.0]],
            "start": [0.0],
            "w_in": [[1.0]],
            "w_rec": [[2.0]],
            "bias": [0.0],
        },
        answer={"states": [[math.tanh(1)], [math.tanh(1.5231883)], [math.tanh(1.8185948)]]},
        says="The first state is tanh(1 · 1 + 2 · 0) = tanh(1) = 0.762. The second input is 0, so the second "
        "state is tanh(2 · 0.762) = tanh(1.523) = 0.909, and the third is tanh(2 · 0.909) = 0.949.",
    ),
    invariants=(
        Invariant(
            "no number in the hidden states has an absolute value above 1",
            lambda it: it.states.abs().max().clamp(min=1),
            equals=1,
        ),
    ),
    slips=(
        Slip(
            "never-carried",
            never_carried,
            "every step uses `start` as the old state. Each step needs the state of the previous one: assign "
            "`state = ...` inside the loop.",
        ),
        Slip(
            "start-ignored",
            by_loop(rnn_step, first=torch.zeros_like),
            "the first state is computed from zeros. Compute it from `start`, which needn't be zero.",
        ),
        Slip(
            "no-tanh",
            by_loop(lambda x, h, w, u, b: x @ w.T + h @ u.T + b),
            "the tanh is missing. Apply it to the whole sum; it keeps every state between −1 and 1.",
        ),
        Slip(
            "before-tanh",
            lambda inputs, start, w_in, w_rec, bias: (
                inputs @ w_in.T
                + torch.cat(
                    [start[..., None, :], read_sequence(inputs, start, w_in, w_rec, bias)[..., :-1, :]],
                    dim=-2,
                )
                @ w_rec.T
                + bias
            ),
            "the sums before the tanh are returned. Append the state, which is the tanh of the sum.",
        ),
        Slip(
            "sum-carried",
            by_loop(lambda x, h, w, u, b: x @ w.T + h @ u.T + b, join=lambda sums: stack_states(sums).tanh()),
            "the tanh is applied to the returned states, but the next step uses the sum before the tanh. "
            "Carry the state itself from step to step.",
        ),
        Slip(
            "sigmoid",
            by_loop(lambda x, h, w, u, b: torch.sigmoid(x @ w.T + h @ u.T + b)),
            "the activation function is a sigmoid. This network uses tanh, which can also be negative.",
        ),
        Slip(
            "relu",
            by_loop(lambda x, h, w, u, b: torch.relu(x @ w.T + h @ u.T + b)),
            "the activation function is a ReLU. This network uses tanh.",
        ),
        Slip(
            "overflow",
            by_loop(lambda x, h, w, u, b: tanh_by_exp(x @ w.T + h @ u.T + b)),
            "tanh is computed with `exp`, which overflows to infinity. `torch.tanh` doesn't.",
        ),
        Slip(
            "recurrent-transposed",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u + b)),
            "`w_rec` isn't transposed. Each of its rows belongs to one component of the new state, so "
            "`w_rec` needs a transpose, just as `w_in` does.",
        ),
        Slip(
            "neither-transposed",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w + h @ u + b)),
            "neither `w_in` nor `w_rec` is transposed. Each row of them belongs to one component of the new "
            "state, so transpose them if you multiply by them from the right.",
        ),
        Slip(
            "no-bias",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u.T)),
            "the bias is missing. Add it inside the tanh at every step.",
        ),
        Slip(
            "bias-outside",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u.T) + b),
            "the bias is added after the tanh. Add it before.",
        ),
        Slip(
            "bias-twice",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b + h @ u.T + b)),
            "the bias is added twice, perhaps once to the input and once to the state. Add it once.",
        ),
        Slip(
            "state-outside",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b) + h @ u.T),
            "the old state is added after the tanh. Add it before, together with the input.",
        ),
        Slip(
            "tanh-twice",
            by_loop(lambda x, h, w, u, b: torch.tanh(torch.tanh(x @ w.T + h @ u.T + b))),
            "the tanh is applied twice. Once is enough.",
        ),
        Slip(
            "separate-tanh",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T) + torch.tanh(h @ u.T + b)),
            "the tanh is applied to the input and to the state separately. Add them first.",
        ),
        Slip(
            "separate-tanh-and-bias",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b) + torch.tanh(h @ u.T)),
            "the tanh is applied to the input and to the state separately. Add them first.",
        ),
        Slip(
            "tanh-of-input",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T) + h @ u.T + b),
            "the tanh is applied only to the input. Apply it to the whole sum.",
        ),
        Slip(
            "old-state-added",
            by_loop(lambda x, h, w, u, b: h + torch.tanh(x @ w.T + h @ u.T + b)),
            "the old state is added to the result of the tanh. The new state is the tanh alone.",
        ),
        Slip(
            "one-step-late",
            by_loop(rnn_step, keeps="before"),
            "the states are one step late: the first one is `start`, and the last one is missing. Append the "
            "state after the step, not before.",
        ),
        Slip(
            "start-included",
            with_states(lambda states, inputs, start: torch.cat([start[..., None, :], states], dim=-2)),
            "`start` is among the states. Return only the n states that follow it, one for each input.",
        ),
        Slip(
            "last-missing",
            with_states(lambda states, inputs, start: states[..., :-1, :]),
            "the last state is missing. Does the loop end one step too early?",
        ),
        Slip(
            "only-last",
            with_states(lambda states, inputs, start: states[..., -1, :]),
            "only the last state is returned. Collect the state of every step in a list, and stack them.",
        ),
        Slip(
            "only-first",
            with_states(lambda states, inputs, start: states[..., :1, :]),
            "only the first state is returned. Is the `return` inside the loop?",
        ),
        Slip(
            "reversed-states",
            with_states(lambda states, inputs, start: states.flip(-2)),
            "the states are in reverse order. Append each one at the end of the list.",
        ),
        *(
            Slip(name, function, "the last input is processed first. Start with the first one.")
            for name, function in (
                ("backwards", backwards),
                ("reversed-inputs", with_inputs(lambda inputs: inputs.flip(-2))),
            )
        ),
        Slip(
            "same-input",
            with_inputs(lambda inputs: inputs[..., :1, :].expand_as(inputs)),
            "every step uses the first input. Step t needs input t: `inputs[..., t, :]`.",
        ),
        Slip(
            "shifted-input",
            with_inputs(lambda inputs: inputs.roll(1, dims=-2)),
            "step t uses the input of the step before. The formula counts from 1, but Python from 0: the "
            "first input has the index 0.",
        ),
        Slip(
            "first-skipped",
            with_inputs(lambda inputs: inputs[..., 1:, :]),
            "the first input is skipped. Python counts from 0.",
        ),
        Slip(
            "all-last",
            with_states(lambda states, inputs, start: states[..., -1:, :].expand_as(states)),
            "all states are equal to the last one. Is the same tensor appended every time and changed in "
            "place? Create a new one at each step.",
        ),
        Slip(
            "multiplied",
            by_loop(lambda x, h, w, u, b: torch.tanh((x @ w.T) * (h @ u.T) + b)),
            "the input and the state are multiplied by each other. Add them.",
        ),
        Slip(
            "no-recurrence",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b)),
            "the old state has no effect: each input is processed alone. Add the term with `w_rec`.",
        ),
        Slip(
            "stacked-first",
            by_loop(rnn_step, join=torch.stack),
            "the steps are on a new first axis. They should be on axis −2, as in `inputs`.",
        ),
        Slip(
            "stacked-second",
            by_loop(rnn_step, join=partial(torch.stack, dim=1)),
            "the steps are on axis 1. Count from the end instead: they should be on axis −2, as in `inputs`.",
        ),
        Slip(
            "stacked-last",
            by_loop(rnn_step, join=partial(torch.stack, dim=-1)),
            "the steps are on a new last axis. They should be on axis −2, as in `inputs`.",
        ),
        Slip(
            "concatenated",
            by_loop(rnn_step, join=partial(torch.cat, dim=-1)),
            "the states are concatenated into one long vector. `torch.stack` puts them on a new axis.",
        ),
        *(
            Slip(
                name,
                over_first_axis(join),
                "the loop runs over the first axis. For a batch of sentences, this isn't the axis of the "
                "words, which is axis −2: use `inputs[..., t, :]`.",
            )
            for name, join in (("over-first-axis", torch.stack), ("over-sentences", stack_states))
        ),
        Slip(
            "first-length",
            with_inputs(lambda inputs: inputs[..., : len(inputs), :]),
            "the number of steps is the size of the first axis. For a batch, that is the number of "
            "sentences; the number of words is `inputs.shape[-2]`.",
        ),
        Slip(
            "batch-axis-added",
            with_states(lambda states, inputs, start: states[None] if inputs.ndim == 2 else states),
            "a single sentence gets an extra batch axis. Its states should have the shape (n, hidden).",
        ),
    ),
)


# ---- a signal stored with weights chosen by hand

STEPS, NOISE, THRESHOLD = 200, 0.3, 0.5
SIGNALS = {"+1": 1.0, "−1": -1.0}


def run_cell(w: float, u: float, b: float, numbers: Sequence[float]) -> list[float]:
    """The states of a recurrent network of one number."""
    state, states = 0.0, []
    for number in numbers:
        state = math.tanh(w * number + u * state + b)
        states.append(state)
    return states


def three_numbers(inputs: tuple, answer: object) -> str:
    if isinstance(answer, set | dict | str):
        return "Return the three numbers in order: `return w, u, b`."
    values = answer.tolist() if isinstance(answer, Tensor) else list(answer)
    if len(values) != 3:
        return f"Expected three numbers, `return w, u, b`, but your function returned {len(values)}."
    if any(isinstance(value, str) for value in values):
        return "Return numbers, not strings."
    try:
        are_finite = all(math.isfinite(float(value)) for value in values)
    except (TypeError, ValueError, RuntimeError):  # None, a list, or a tensor with several elements
        return "Each of the three must be a single number."
    if not are_finite:
        return "Each of the three must be a finite number."
    return ""


def is_fault_of_bias(demand: Callable, answer: Sequence[float]) -> bool:
    """Whether the same weights without a bias would meet the demand."""
    w, u, b = map(float, answer)
    return b != 0 and not demand((), (w, u, 0.0))


def state_text(state: float) -> str:
    return fixed(state, 2).replace("-", "−")


def holds_in_quiet(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    ends = {}
    for name, signal in SIGNALS.items():
        states = run_cell(w, u, b, [signal] + [0.0] * STEPS)
        first, last = state_text(states[0]), state_text(states[-1])
        ends[name] = states[-1]
        if states[-1] * states[-2] < 0:
            return "The state changes its sign at every step. What does a negative `u` do?"
        if abs(states[-1]) >= THRESHOLD:
            continue
        if w == 0:
            return "The signal has no effect: it is multiplied by `w`, which is 0."
        if u > 1:
            return (
                f"After the signal {name} and {STEPS} quiet steps, the state is {last}. It should be at "
                f"least {THRESHOLD} away from 0. Without a bias it settles where h = tanh(u · h): which `u` "
                "moves that further away from 0?"
            )
        return (
            f"The signal fades. After the signal {name} the state is {first}, and {STEPS} quiet steps later "
            f"it is {last}. With input 0, a small state is multiplied by about `u` at each step: what must "
            "`u` be so that it doesn't shrink?"
        )
    if ends["+1"] * ends["−1"] > 0:
        texts = f"{state_text(ends['+1'])} after +1 and at {state_text(ends['−1'])} after −1"
        cause = "Compare `w`, by which the signal is multiplied, with `b`, which is added at every step."
        if is_fault_of_bias(holds_in_quiet, answer):
            cause = f"`b` = {b:g} is added at every step and pushes it to one side."
        return f"The state doesn't distinguish the two signals: it ends at {texts}. {cause}"
    if ends["+1"] < 0:
        return "The state has the wrong sign in the end: it is negative after +1. Check the sign of `w`."
    return ""


def holds_in_noise(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    generator = torch.Generator("cpu").manual_seed(0)
    for name, signal in SIGNALS.items():
        noises = [(torch.rand(STEPS - 1, generator=generator) * 2 - 1) * NOISE for _ in range(5)]
        for noise in [torch.full((STEPS - 1,), -signal * NOISE), *noises]:
            end = run_cell(w, u, b, [signal, *noise.tolist()])[-1]
            if end * signal < THRESHOLD:
                cause = (
                    "The noise is multiplied by `w`, and the old state by `u`. Is `w` too large, or `u` too "
                    "small?"
                )
                if is_fault_of_bias(holds_in_noise, answer):
                    cause = f"`b` = {b:g} pushes in the same direction as this noise."
                return (
                    f"The state doesn't withstand the noise. After the signal {name} and {STEPS - 1} noisy "
                    f"inputs, the state is {state_text(end)}. {cause}"
                )
    return ""


def can_be_overwritten(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    for name, signal in SIGNALS.items():
        numbers = [signal] + [0.0] * 100 + [-signal] + [0.0] * 100
        end = run_cell(w, u, b, numbers)[-1]
        if end * signal > -THRESHOLD:
            opposite = "−1" if name == "+1" else "+1"
            cause = (
                "Inside the tanh, the new signal contributes `w`, and the old state contributes almost `u` "
                "with the opposite sign. Which of the two must be larger?"
            )
            if is_fault_of_bias(can_be_overwritten, answer):
                cause = f"`b` = {b:g} pushes against the new signal."
            return (
                f"A new signal doesn't overwrite the old one. After {name}, 100 quiet steps, {opposite} and "
                f"100 more quiet steps, the state is {state_text(end)}. {cause}"
            )
    return ""


WIRE_MEMORY = PlainExercise(
    name="wire_memory",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(
        inputs={},
        answer=(3.5, 3.0, 0.0),
        says="With u = 3 the state settles near 0.995 or −0.995. A new signal of 3.5 exceeds 3 · 0.995.",
    ),
    others=(),
    design=True,
    trains=False,
    demands=(three_numbers, holds_in_quiet, holds_in_noise, can_be_overwritten),
    reference=lambda: (3.5, 3.0, 0.0),
    slips=(
        Slip(
            "all-ones",
            lambda: (1.0, 1.0, 0.0),
            "with `u` = 1, a quiet step replaces the state with its tanh, which is always a little closer to "
            "0. Over 200 steps, these small losses add up.",
        ),
        Slip(
            "no-memory",
            lambda: (1.0, 0.0, 0.0),
            "with `u` = 0 the old state has no effect on the new one.",
        ),
    ),
)


# ---- the product of Jacobians


def step_jacobians(states: Tensor, w_rec: Tensor) -> list[Tensor]:
    """The Jacobian of every step: each row of the matrix times the derivative of its tanh."""
    return [(1 - state**2)[:, None] * w_rec for state in states[1:]]


def product_of(matrices: Sequence[Tensor], like: Tensor) -> Tensor:
    """The matrix product, the later steps on the left."""
    product = torch.eye(len(like), dtype=like.dtype)
    for matrix in matrices:
        product = matrix @ product
    return product


def product_of_jacobians(states: Tensor, w_rec: Tensor) -> Tensor:
    return product_of(step_jacobians(states, w_rec), w_rec)


def with_derivatives(derivatives_of: Callable[[Tensor], Tensor]) -> Callable:
    """The product with other derivatives; `derivatives_of` gets the state that a step leads to."""
    return lambda states, w: product_of([derivatives_of(state)[:, None] * w for state in states[1:]], w)


def with_steps(change: Callable) -> Callable:
    """The product of other Jacobians; `change` gets the right ones and `w_rec`."""
    return lambda states, w: product_of(change(step_jacobians(states, w), w), w)


def without_identity(states: Tensor, w_rec: Tensor) -> Tensor:
    first, *others = step_jacobians(states, w_rec)  # fails without any steps
    product = first
    for step in others:
        product = step @ product
    return product


def split_product(power_of: Callable[[int], int]) -> Callable:
    """The derivatives of all steps multiplied together, times a power of the matrix."""

    def product(states: Tensor, w_rec: Tensor) -> Tensor:
        derivatives, n_steps = (1 - states[1:] ** 2).prod(dim=0), len(states) - 1
        return derivatives[:, None] * torch.linalg.matrix_power(w_rec, power_of(n_steps))

    return product


PRODUCT_OF_JACOBIANS = TensorExercise(
    name="product_of_jacobians",
    lesson=LESSON,
    inputs={
        "states": RandomInput(
            "n h", lambda size, g: torch.tanh(torch.randn(size, generator=g, dtype=torch.float32))
        ),
        "w_rec": gaussian("h h"),
    },
    returns={"jacobian": "h h"},
    sizes={"n": 5, "h": 3},
    reference=product_of_jacobians,
    by_hand=ByHand(
        inputs={"states": [[0.5, 0.5], [0.6, 0.8], [0.8, 0.6]], "w_rec": [[1.0, 2.0], [0.0, 1.0]]},
        answer={"jacobian": [[0.2304, 0.72], [0.0, 0.2304]]},
        says="There are two steps. The first leads to the state (0.6, 0.8), where the derivatives are 0.64 "
        "and 0.36, so its Jacobian has the rows (0.64, 1.28) and (0, 0.36). The second leads to (0.8, 0.6), "
        "where the derivatives are 0.36 and 0.64, so its Jacobian has the rows (0.36, 0.72) and (0, 0.64). "
        "The second times the first has the rows (0.36 · 0.64, 0.36 · 1.28 + 0.72 · 0.36) and (0, 0.64 · "
        "0.36).",
    ),
    others=(lambda: (torch.tensor([[0.1, 0.5], [0.3, -0.4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])),),
    large=(),
    trains=False,
    seconds=10.0,  # on a busy machine the first use of torch.func takes several
    slips=(
        Slip(
            "other-order",
            with_steps(lambda steps, w: steps[::-1]),
            "the matrices are multiplied in the opposite order. Each new step goes on the left of the "
            "product so far.",
        ),
        Slip(
            "no-derivatives",
            with_derivatives(torch.ones_like),
            "the derivatives of the tanh are missing. The Jacobian of a step is the matrix with its rows "
            "multiplied by 1 − h², where h is the state that the step leads to.",
        ),
        Slip(
            "first-too",
            lambda states, w: product_of(step_jacobians(torch.cat([states[:1], states]), w), w),
            "there is an extra factor. No step leads to the first state: between n states there are n − "
            "1 steps.",
        ),
        Slip(
            "extra-matrix",
            with_steps(lambda steps, w: [w, *steps]),
            "the product contains one extra factor `w_rec`. The product of no steps at all is the identity "
            "matrix, so start with `torch.eye(...)`.",
        ),
        Slip(
            "starts-from-zeros",
            lambda states, w: torch.zeros_like(w),
            "the product starts from a matrix of zeros, so it stays zero. Start with the identity matrix.",
        ),
        Slip(
            "starts-from-ones",
            lambda states, w: product_of_jacobians(states, w) @ torch.ones_like(w),
            "the product starts from a matrix of ones. Start with the identity matrix, which has ones only "
            "on its diagonal.",
        ),
        Slip(
            "recomputed-states",
            lambda states, w: product_of_jacobians(
                by_loop(lambda x, h, w, *_: torch.tanh(w @ h), keeps="before")(states, states[0], w, w, w), w
            ),
            "the states are recomputed from the first one, as if there were no inputs. Use the given states.",
        ),
        Slip(
            "last-missing",
            with_steps(lambda steps, w: steps[:-1]),
            "the last step is missing. Does the loop end too early?",
        ),
        Slip(
            "first-missing",
            with_steps(lambda steps, w: steps[1:]),
            "the first step is missing. It leads to the second state, which has the index 1.",
        ),
        Slip(
            "last-only",
            with_steps(lambda steps, w: steps[-1:]),
            "this is the Jacobian of the last step alone. Multiply the Jacobians of all steps.",
        ),
        Slip(
            "first-only",
            with_steps(lambda steps, w: steps[:1]),
            "this is the Jacobian of the first step alone. Multiply the Jacobians of all steps. Is the "
            "`return` inside the loop?",
        ),
        Slip(
            "first-without-derivatives",
            with_steps(lambda steps, w: [w, *steps[1:]]),
            "the first step has no derivatives: the product starts from `w_rec`. Start with the identity "
            "matrix and treat all steps alike.",
        ),
        Slip(
            "derivatives-of-before",
            lambda states, w: product_of(step_jacobians(states.roll(1, 0), w), w),
            "the derivatives are computed from the old states. The tanh produces the new state, so use the "
            "state that the step leads to.",
        ),
        Slip(
            "columns-scaled",
            lambda states, w: product_of([(1 - state**2) * w for state in states[1:]], w),
            "the derivatives multiply the columns. Row i of the matrix belongs to component i of the new "
            "state, and so does derivative i. To multiply rows, the derivatives need the shape (hidden, 1).",
        ),
        Slip(
            "not-squared",
            with_derivatives(lambda state: 1 - state),
            "the derivative is computed as 1 − h. Where tanh equals h, its derivative is 1 − h².",
        ),
        Slip(
            "squares",
            with_derivatives(lambda state: state**2),
            "the derivative is computed as h². Where tanh equals h, its derivative is 1 − h².",
        ),
        Slip(
            "difference-squared",
            with_derivatives(lambda state: (1 - state) ** 2),
            "the derivative is computed as (1 − h)². Where tanh equals h, its derivative is 1 − h².",
        ),
        Slip(
            "plus-squares",
            with_derivatives(lambda state: 1 + state**2),
            "the derivative is computed as 1 + h². Where tanh equals h, its derivative is 1 − h².",
        ),
        Slip(
            "sigmoid-derivatives",
            with_derivatives(lambda state: state * (1 - state)),
            "h(1 − h) is the derivative of a sigmoid. Where tanh equals h, its derivative is 1 − h².",
        ),
        Slip(
            "tanh-again",
            with_derivatives(lambda state: 1 - torch.tanh(state) ** 2),
            "tanh is applied to the states once more. They are outputs of tanh already, so the derivative "
            "is 1 − h².",
        ),
        Slip(
            "mean-derivative",
            with_derivatives(lambda state: (1 - state**2).mean().expand_as(state)),
            "all rows are multiplied by the same mean derivative. Row i has its own derivative, that of "
            "component i of the new state.",
        ),
        Slip(
            "derivatives-first",
            split_product(lambda n_steps: n_steps),
            "all derivatives are multiplied together, and all matrices too. The derivatives of a step must "
            "multiply its own matrix before the next step: matrix products can't be reordered.",
        ),
        Slip(
            "one-matrix",
            split_product(lambda n_steps: 1),
            "the derivatives of all steps are multiplied together, but `w_rec` is used only once. Every "
            "step has both.",
        ),
        Slip(
            "no-matrix",
            split_product(lambda n_steps: 0),
            "`w_rec` isn't used. The Jacobian of a step is `w_rec` with its rows multiplied by the "
            "derivatives.",
        ),
        Slip(
            "summed",
            lambda states, w: sum(step_jacobians(states, w), torch.zeros_like(w)),
            "the Jacobians are added. By the chain rule, the Jacobian of several steps is the product of "
            "theirs.",
        ),
        Slip(
            "summed-by-sum",
            lambda states, w: sum(step_jacobians(states, w), torch.zeros(())),
            "the Jacobians are added. By the chain rule, the Jacobian of several steps is the product of "
            "theirs.",
        ),
        Slip(
            "same-step",
            with_steps(lambda steps, w: steps[-1:] * len(steps)),
            "every step uses the derivatives of the last state. Each step has its own, those of the state "
            "that it leads to.",
        ),
        Slip(
            "added-to-identity",
            lambda states, w: sum(step_jacobians(states, w), torch.eye(len(w), dtype=w.dtype)),
            "the Jacobians are added. By the chain rule, the Jacobian of several steps is the product of "
            "theirs.",
        ),
        Slip(
            "elementwise",
            lambda states, w: math.prod(step_jacobians(states, w), start=torch.ones_like(w)),
            "the matrices are multiplied element by element, with `*`. Use the matrix product, `@`.",
        ),
        Slip(
            "elementwise-identity",
            lambda states, w: math.prod(step_jacobians(states, w), start=torch.eye(len(w), dtype=w.dtype)),
            "the matrices are multiplied element by element, with `*`. Use the matrix product, `@`.",
        ),
        Slip(
            "transposed",
            lambda states, w: product_of_jacobians(states, w).T,
            "the result is transposed. Row i should describe how component i of the last state changes.",
        ),
        Slip(
            "steps-transposed",
            with_steps(lambda steps, w: [step.T for step in steps]),
            "the Jacobian of each step is transposed. Row i should describe how component i of the new "
            "state changes.",
        ),
        Slip(
            "norm",
            lambda states, w: product_of_jacobians(states, w).norm(),
            "this is the norm of the Jacobian. Return the matrix itself.",
        ),
        *(
            Slip(name, function, "these are the Jacobians of all steps. Return their product.")
            for name, function in (
                ("each-step", lambda states, w: torch.stack(step_jacobians(states, w))),
                (
                    "each-step-and-identity",
                    lambda states, w: torch.stack([torch.eye(len(w)), *step_jacobians(states, w)]),
                ),
            )
        ),
        Slip(
            "each-product",
            lambda states, w: torch.stack(
                [product_of_jacobians(states[:n], w) for n in range(1, len(states) + 1)]
            ),
            "these are the products after each step. Return only the last one, which contains all steps.",
        ),
        Slip(
            "needs-a-step",
            without_identity,
            "with a single state there are no steps, so there is no first Jacobian to start from. Start with "
            "the identity matrix, `torch.eye(...)`, and treat all steps alike.",
        ),
    ),
)

EXERCISES = (READ_SEQUENCE, WIRE_MEMORY, PRODUCT_OF_JACOBIANS)
