"""The exercises of lesson 02: read with a state, test a reader, wire a memory, multiply Jacobians, clip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.formatting import fixed
from course_lib.layers.cells import rnn_cell
from course_lib.layers.recurrent import unroll
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    RandomInput,
    Slip,
    TensorExercise,
    TestExercise,
    gaussian,
)

LESSON = "recurrent_networks"


# ---- reading a sequence


def by_loop(step: Callable, *, first: Callable | None = None, keeps: str = "after") -> Callable:
    """A reader that repeats one step. `first` maps the initial state; `keeps` says which state to return."""

    def reader(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
        state, states = first(start) if first else start, []
        for word in inputs.unbind(-2):
            before, state = state, step(word, state, w_in, w_rec, bias)
            states.append(before if keeps == "before" else state)
        return torch.stack(states, -2)

    return reader


def rnn_step(word: Tensor, state: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(word @ w_in.T + state @ w_rec.T + bias)


read_sequence = by_loop(rnn_step)


def never_carried(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(inputs @ w_in.T + (start @ w_rec.T)[..., None, :] + bias)


def backwards(inputs: Tensor, *given: Tensor) -> Tensor:
    return read_sequence(inputs.flip(-2), *given).flip(-2)


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
        "state is tanh(2 · 0.762) = tanh(1.523) = 0.909, and the third tanh(2 · 0.909) = 0.949.",
    ),
    invariants=(
        Invariant("no state leaves −1 … 1", lambda it: (it.states.abs() - 1).clamp(min=0), equals=0),
    ),
    slips=(
        Slip(
            "never-carried",
            never_carried,
            "every step begins from `start` again: the state is not carried over. The state that one step "
            "made must go into the next: `state = ...` inside the loop.",
        ),
        Slip(
            "start-ignored",
            by_loop(rnn_step, first=torch.zeros_like),
            "it begins from zeros. Begin from `start`: a sentence may go on where another one ended.",
        ),
        Slip(
            "no-tanh",
            by_loop(lambda x, h, w, u, b: x @ w.T + h @ u.T + b),
            "the tanh is missing. It keeps every state between −1 and 1, and belongs around the whole sum.",
        ),
        Slip(
            "sigmoid",
            by_loop(lambda x, h, w, u, b: torch.sigmoid(x @ w.T + h @ u.T + b)),
            "the states are squashed with a sigmoid. This network uses tanh, which can also be negative.",
        ),
        Slip(
            "recurrent-transposed",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u + b)),
            "`w_rec` lies on its side. It has a row for each number of the new state, so a row of states is "
            "multiplied by `w_rec.T`, just as the inputs are by `w_in.T`.",
        ),
        Slip(
            "no-bias",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u.T)),
            "the bias is missing. It is added inside the tanh, at every step.",
        ),
        Slip(
            "bias-outside",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + h @ u.T) + b),
            "the bias is added after the tanh. Add it before: the tanh goes around everything.",
        ),
        Slip(
            "state-outside",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b) + h @ u.T),
            "the old state is added after the tanh. It goes inside, together with the word.",
        ),
        Slip(
            "one-step-late",
            by_loop(rnn_step, keeps="before"),
            "the states are one step late: the first one kept is `start`, and the last one is missing. "
            "Append after the step, not before.",
        ),
        Slip(
            "backwards",
            backwards,
            "it reads the last word first. Go through the words from the front.",
        ),
        Slip(
            "no-recurrence",
            by_loop(lambda x, h, w, u, b: torch.tanh(x @ w.T + b)),
            "the old state takes no part: each word is read alone. Add `state @ w_rec.T`.",
        ),
    ),
)


def with_library_cell(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    flat = inputs.reshape(-1, *inputs.shape[-2:])
    state = {"hidden": start.reshape(-1, start.shape[-1])}
    weights = {"weight_ih": w_in, "weight_hh": w_rec, "bias_ih": bias, "bias_hh": torch.zeros_like(bias)}
    states, _ = unroll(lambda word, old: {"hidden": rnn_cell(word, old["hidden"], **weights)}, flat, state)
    return states.reshape(*inputs.shape[:-1], -1)


def inputs_first(inputs: Tensor, start: Tensor, w_in: Tensor, w_rec: Tensor, bias: Tensor) -> Tensor:
    from_inputs = inputs @ w_in.T + bias  # all words at once
    state, states = start, []
    for time in range(inputs.shape[-2]):
        state = torch.tanh(from_inputs[..., time, :] + state @ w_rec.T)
        states.append(state)
    return torch.stack(states, dim=-2)


def careful_test(implementation: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 5, 4), (2, 3), (3, 4), (3, 3), (3,))
    given = [torch.randn(shape, generator=generator) for shape in shapes]
    torch.testing.assert_close(implementation(*given), read_sequence(*given))


TEST_READER = TestExercise(
    name="test_reader",
    lesson=LESSON,
    inputs={"reader": "a function"},
    of=READ_SEQUENCE,
    what="reader",
    accepts={"with the course's cell": with_library_cell, "with all inputs multiplied first": inputs_first},
    rejects={
        "never-carried": "never carries the state over",
        "start-ignored": "begins from zeros, whatever `start` is",
        "no-tanh": "leaves the tanh out",
        "recurrent-transposed": "multiplies by `w_rec` on its side",
        "no-bias": "forgets the bias",
        "one-step-late": "hands back each state one step late",
        "backwards": "reads the last word first",
        "no-recurrence": "reads each word alone",
    },
    reference=careful_test,
)


# ---- a memory wired by hand

STEPS, NOISE, THRESHOLD = 200, 0.3, 0.5
SIGNALS = (1.0, -1.0)


def run_cell(w: float, u: float, b: float, numbers: Sequence[float]) -> list[float]:
    """The states of a recurrent network of one number."""
    state, states = 0.0, []
    for number in numbers:
        state = math.tanh(w * number + u * state + b)
        states.append(state)
    return states


def three_numbers(inputs: tuple, answer: object) -> str:
    values = answer.tolist() if isinstance(answer, Tensor) else list(answer)
    if len(values) != 3:
        return f"Three numbers are wanted, `return w, u, b`; these are {len(values)}."
    if not all(math.isfinite(float(value)) for value in values):
        return "Each of the three must be an ordinary number."
    return ""


def holds_in_quiet(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    ends = {}
    for signal in SIGNALS:
        states = run_cell(w, u, b, [signal] + [0.0] * (STEPS - 1))
        ends[signal] = states[-1]
        if abs(states[-1]) < THRESHOLD:
            return (
                f"It fades. After the signal {signal:+.0f} the state is {fixed(states[0], 2)}, and after 200 "
                f"quiet steps {fixed(states[-1], 2)}. In quiet, a small state becomes about `u` times as "
                "large at each step: what must `u` be for it not to shrink?"
            )
        if states[-1] * states[-2] < 0:
            return "It swings: the state changes its sign at every step. What does a negative `u` do?"
    if ends[1.0] * ends[-1.0] > 0:
        return (
            f"It says the same for both signals: the state ends at {fixed(ends[1.0], 2)} after +1 and at "
            f"{fixed(ends[-1.0], 2)} after −1. Does `b` push it to one side, or does `w` not let it in?"
        )
    if ends[1.0] < 0:
        return "It remembers the opposite: after +1 the state ends below 0. Look at the sign of `w`."
    return ""


def holds_in_noise(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    generator = torch.Generator("cpu").manual_seed(0)
    for signal in SIGNALS:
        noises = [(torch.rand(STEPS - 1, generator=generator) * 2 - 1) * NOISE for _ in range(5)]
        for noise in [torch.full((STEPS - 1,), -signal * NOISE), *noises]:
            end = run_cell(w, u, b, [signal, *noise.tolist()])[-1]
            if end * signal < THRESHOLD * 0.5:
                return (
                    f"The noise wins. After the signal {signal:+.0f} and 199 numbers of noise the "
                    f"state is {fixed(end, 2)}. The noise comes in times `w`, the memory holds on by `u`: "
                    "which of the two is too large or too small?"
                )
    return ""


def can_be_overwritten(inputs: tuple, answer: object) -> str:
    w, u, b = map(float, answer)
    for signal in SIGNALS:
        numbers = [signal] + [0.0] * 99 + [-signal] + [0.0] * 99
        end = run_cell(w, u, b, numbers)[-1]
        if end * signal > -THRESHOLD:
            return (
                f"It holds too fast. After {signal:+.0f}, then 100 steps later {-signal:+.0f}, it still says "
                f"{fixed(end, 2)}. A new signal comes in as `w`, the old state stands against it with nearly "
                "`u`: which of the two must be larger?"
            )
    return ""


WIRE_MEMORY = PlainExercise(
    name="wire_memory",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(
        inputs={},
        answer=(3.5, 3.0, 0.0),
        says="With u = 3 the state settles near 0.995 or −0.995. A new signal, 3.5, beats 3 · 0.995.",
    ),
    others=(),
    design=True,
    demands=(three_numbers, holds_in_quiet, holds_in_noise, can_be_overwritten),
    reference=lambda: (3.5, 3.0, 0.0),
    slips=(
        Slip(
            "only-adds",
            lambda: (1.0, 1.0, 0.0),
            "with all weights 1 the state hardly shrinks in one step, but the tanh takes a little off at "
            "every one, and nothing gives it back.",
        ),
        Slip(
            "no-memory",
            lambda: (1.0, 0.0, 0.0),
            "with `u` = 0 the old state takes no part at all.",
        ),
    ),
)


# ---- the product of Jacobians


def step_jacobians(states: Tensor, w_rec: Tensor) -> list[Tensor]:
    """The Jacobian of every step: each row of the matrix times the slope of its tanh."""
    return [(1 - state**2)[:, None] * w_rec for state in states[1:]]


def product_of(matrices: Sequence[Tensor], like: Tensor) -> Tensor:
    """The matrix product, the later steps on the left."""
    product = torch.eye(len(like), dtype=like.dtype)
    for matrix in matrices:
        product = matrix @ product
    return product


def product_of_jacobians(states: Tensor, w_rec: Tensor) -> Tensor:
    return product_of(step_jacobians(states, w_rec), w_rec)


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
        inputs={"states": [[0.5], [0.6], [0.8]], "w_rec": [[2.0]]},
        answer={"jacobian": [[0.9216]]},
        says="Two steps lie between the first state and the third. The step to 0.6 has the factor "
        "(1 − 0.36) · 2 = 1.28, the step to 0.8 the factor (1 − 0.64) · 2 = 0.72. The product is 0.9216.",
    ),
    large=(),
    trains=False,
    slips=(
        Slip(
            "other-order",
            lambda states, w: product_of(step_jacobians(states, w)[::-1], w),
            "the matrices are multiplied in the other order. Matrices must not change places: the newest "
            "step goes to the left, `jacobian = step @ jacobian`.",
        ),
        Slip(
            "no-slopes",
            lambda states, w: product_of([w] * (len(states) - 1), w),
            "the slopes of the tanh are missing. Each step is the matrix with its rows multiplied by "
            "1 − h², h being the state that the step leads to.",
        ),
        Slip(
            "first-too",
            lambda states, w: product_of(step_jacobians(torch.cat([states[:1], states]), w), w),
            "there is one factor too many. The first state is where we start from: from n states there are "
            "n − 1 steps.",
        ),
        Slip(
            "slopes-of-before",
            lambda states, w: product_of(step_jacobians(states.roll(1, 0), w), w),
            "the slopes are those of the state before each step. The tanh is applied on the way out: use "
            "the state that the step leads to.",
        ),
        Slip(
            "columns-scaled",
            lambda states, w: product_of([(1 - state**2) * w for state in states[1:]], w),
            "the slopes multiply the columns. Row i belongs to number i of the new state, and so does slope "
            "i: `(1 - state**2)[:, None] * w_rec`.",
        ),
        Slip(
            "not-squared",
            lambda states, w: product_of([(1 - state)[:, None] * w for state in states[1:]], w),
            "the slope is taken as 1 − h. The slope of the tanh where it gives h is 1 − h².",
        ),
        Slip(
            "summed",
            lambda states, w: sum(step_jacobians(states, w), torch.zeros_like(w)),
            "the steps are added up. One nudge goes through all of them, one after the other: multiply.",
        ),
        Slip(
            "number-by-number",
            lambda states, w: math.prod(step_jacobians(states, w), start=torch.ones_like(w)),
            "the matrices are multiplied number by number, with `*`. A nudge spreads over all numbers of "
            "the state: use the matrix product `@`.",
        ),
        Slip(
            "transposed",
            lambda states, w: product_of_jacobians(states, w).T,
            "the result lies on its side. Row i says what happens to number i of the last state.",
        ),
    ),
)


# ---- clipping


def norm(gradients: Sequence[Tensor]) -> Tensor:
    """Of all gradients together."""
    return torch.sqrt(sum(gradient.square().sum() for gradient in gradients))


def scale(gradients: Sequence[Tensor], factor: float | Tensor) -> list[Tensor]:
    return [gradient * factor for gradient in gradients]


def clip_gradients(gradients: Sequence[Tensor], limit: float) -> list[Tensor]:
    return scale(gradients, limit / norm(gradients).clamp(min=limit))


def first_version(gradients, limit):
    return [gradient.clamp(-limit, limit) for gradient in gradients]


def random_gradients(seed: int, limit: float, *shapes: tuple[int, ...]) -> tuple[list[Tensor], float]:
    generator = torch.Generator("cpu").manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes], limit


CLIP_GRADIENTS = PlainExercise(
    name="clip_gradients",
    trains=False,
    lesson=LESSON,
    inputs=("gradients", "limit"),
    by_hand=ByHand(
        inputs={"gradients": [torch.tensor([3.0]), torch.tensor([4.0])], "limit": 1.0},
        answer=[[0.6], [0.8]],
        says="The whole gradient is (3, 4), and its length √(9 + 16) = 5. To make it 1, multiply everything "
        "by 1/5: 0.6 and 0.8. It still points the same way.",
    ),
    others=(
        lambda: random_gradients(0, 1.0, (3, 2), (3, 3), (3,)),
        lambda: random_gradients(1, 100.0, (3, 2), (3,)),
        lambda: random_gradients(2, 0.25, (4,)),
        lambda: ([torch.tensor([0.1, -0.2]), torch.tensor([[30.0]])], 5.0),
        lambda: ([torch.tensor([0.3]), torch.tensor([-0.4])], 2.0),
    ),
    reference=clip_gradients,
    unrepaired=first_version,
    slips=(
        Slip(
            "each-by-itself",
            lambda gradients, limit: [
                part for gradient in gradients for part in clip_gradients([gradient], limit)
            ],
            "each matrix is shortened by itself. That changes the direction too: measure the length of all "
            "numbers together.",
        ),
        Slip(
            "each-to-the-limit",
            lambda gradients, limit: [
                part for gradient in gradients for part in scale([gradient], limit / norm([gradient]))
            ],
            "each matrix is brought to the limit by itself. Measure the length of all numbers together, and "
            "shorten only where it is above the limit.",
        ),
        Slip(
            "always-scaled",
            lambda gradients, limit: scale(gradients, limit / norm(gradients)),
            "a short gradient is made longer. Leave it alone where its length is below the limit.",
        ),
        Slip(
            "not-the-root",
            lambda gradients, limit: scale(gradients, min(1.0, limit / float(norm(gradients) ** 2))),
            "it divides by the squared length. The length is the square root of the sum of squares.",
        ),
        Slip(
            "unit-length",
            lambda gradients, limit: scale(gradients, 1 / norm(gradients).clamp(min=limit)),
            "what is too long is brought to length 1. It should come out at the limit.",
        ),
        Slip(
            "thrown-away",
            lambda gradients, limit: scale(gradients, float(norm(gradients) <= limit)),
            "a gradient that is too long becomes 0. Shorten it, and keep its direction.",
        ),
        Slip(
            "sum-of-sizes",
            lambda gradients, limit: scale(
                gradients, min(1.0, limit / float(sum(gradient.abs().sum() for gradient in gradients)))
            ),
            "the length is taken as the sum of the absolute values. Take the root of the sum of squares.",
        ),
    ),
)

EXERCISES = (READ_SEQUENCE, TEST_READER, WIRE_MEMORY, PRODUCT_OF_JACOBIANS, CLIP_GRADIENTS)
