"""The exercises of lesson 02: an RNN, a signal stored with weights chosen by hand, a product of Jacobians."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.formatting import fixed
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    RandomInput,
    TensorExercise,
    gaussian,
    known_mistakes,
)
from lessons.l02_recurrent_networks import solutions

LESSON = "recurrent_networks"


# ---- processing a sequence


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
    reference=solutions.read_sequence,
    answered_by=("torch.nn.RNN", "torch.nn.RNNCell", "torch.rnn_tanh", "torch.rnn_tanh_cell"),
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
    slips=known_mistakes(solutions.read_sequence),
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
    reference=solutions.wire_memory,
    slips=known_mistakes(solutions.wire_memory),
)


# ---- the product of Jacobians


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
    reference=solutions.product_of_jacobians,
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
    slips=known_mistakes(solutions.product_of_jacobians),
)

EXERCISES = (READ_SEQUENCE, WIRE_MEMORY, PRODUCT_OF_JACOBIANS)
