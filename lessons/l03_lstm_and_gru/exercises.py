"""The exercises of lesson 03: from a bias to a half-life, one LSTM step, and from a half-life to a bias."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    Slip,
    TensorExercise,
    gaussian,
    known_mistakes,
)
from lessons.l03_lstm_and_gru import solutions

LESSON = "lstm_and_gru"
LN3 = math.log(3)  # σ(ln 3) is 3/4 and tanh(½ ln 3) is 1/2


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


# ---- half_life


def half_life(forget_bias: float) -> float:
    return math.log(2) / math.log1p(math.exp(-forget_bias))  # −ln(gate), also where the gate rounds to 1


def life_with(
    gate: Callable[[float], float] = sigmoid,
    log: Callable[[float], float] = math.log,
    above: float = math.log(2),
) -> Callable[[float], float]:
    """A half-life with another gate, logarithm or numerator."""
    return lambda bias: above / -log(gate(bias))


def float32_gate(bias: float) -> float:
    return torch.tensor(bias, dtype=torch.float32).sigmoid().item()


NOT_WHOLE = "the result is rounded to whole steps. Don't round it: a half-life needn't be whole."
NOT_ROUNDED = "the result is rounded. Return it without rounding."
OTHER_BASE = "two logarithms with different bases are mixed. Use `math.log`, the natural logarithm, for both."

HALF_LIFE = PlainExercise(
    name="half_life",
    lesson=LESSON,
    inputs=("forget_bias",),
    reference=half_life,
    trains=False,
    by_hand=ByHand(
        inputs={"forget_bias": 0.0},
        answer=1.0,
        says="With a bias of 0, the gate is σ(0) = 1/2. One step leaves half, so the half-life is 1.",
    ),
    others=(
        lambda: (1.0,),
        lambda: (2.0,),
        lambda: (3.0,),
        lambda: (-1.0,),
        lambda: (LN3,),
        lambda: (12.0,),  # the gate is so close to 1 that float32 is not enough
    ),
    slips=(
        Slip(
            "time-constant",
            life_with(above=1.0),
            "this is the time until 1/e (37%) is left. For one half, solve gate ** n = 1/2.",
        ),
        Slip(
            "negative-time-constant",
            life_with(above=-1.0),
            "1 is divided by ln(gate). Two things are wrong: ln(gate) is negative, so the sign must change, "
            "and with 1 as the numerator, 1/e is left instead of 1/2.",
        ),
        Slip(
            "half-above",
            life_with(above=0.5),
            "the numerator is 1/2 itself. It should be a logarithm: solve n · ln(gate) = ln(1/2) for n.",
        ),
        Slip(
            "rate-only",
            lambda bias: -math.log(sigmoid(bias)),
            "this is only −ln(gate), the denominator. Divide ln 2 by it.",
        ),
        Slip(
            "one-over-leak",
            lambda bias: 1 / (1 - sigmoid(bias)),
            "1 / (1 − gate) is the mean lifetime of the content, not its half-life. Solve gate ** n = 1/2 "
            "for n.",
        ),
        Slip(
            "half-over-leak",
            lambda bias: 0.5 / (1 - sigmoid(bias)),
            "½ / (1 − gate) would be right if every step lost the same amount. But each step loses a "
            "fraction of what is left, so solve gate ** n = 1/2 for n.",
        ),
        Slip(
            "leak-for-log",
            lambda bias: math.log(2) / (1 - sigmoid(bias)),
            "the denominator is 1 − gate. That is close to −ln(gate) only if the gate is close to 1.",
        ),
        Slip(
            "large-bias-rule",
            lambda bias: math.log(2) * math.exp(bias),
            "ln 2 · e^b is only an approximation for large biases. Compute the gate, then use the formula.",
        ),
        Slip(
            "negative",
            lambda bias: -half_life(bias),
            "the sign is wrong. Either a minus sign is missing, because the logarithm of the gate is "
            "negative, or your gate is above 1: check the parentheses in 1 / (1 + e^(−b)).",
        ),
        Slip(
            "gate-of-minus-b",
            lambda bias: half_life(-bias),
            "the gate seems to be σ(−b) = 1 − σ(b). Check the sign in the exponent: σ(b) = 1 / (1 + e^(−b)).",
        ),
        Slip(
            "bias-as-gate",
            life_with(gate=lambda bias: bias),
            "the bias is used as if it were the gate. Compute the gate σ(b) first.",
        ),
        Slip(
            "bias-as-rate",
            lambda bias: math.log(2) / bias,
            "ln 2 is divided by the bias itself. Compute the gate σ(b) first, then divide by −ln(gate).",
        ),
        Slip(
            "tanh-gate",
            life_with(gate=math.tanh),
            "the gate is computed with tanh. A gate uses the sigmoid, which is always between 0 and 1.",
        ),
        Slip(
            "rounded-gate",
            life_with(gate=lambda bias: round(sigmoid(bias), 2)),
            "the gate is rounded to two decimals. Use all its digits: the closer it is to 1, the more they "
            "matter.",
        ),
        Slip(
            "float32-gate",
            life_with(gate=float32_gate),
            "the gate is computed in float32. It is so close to 1 here that seven digits aren't enough. "
            "Python floats, as in `math.exp`, have sixteen.",
        ),
        Slip(
            "upside-down",
            lambda bias: 1 / half_life(bias),
            "the fraction is upside down. Solve n · ln(gate) = ln(1/2) for n.",
        ),
        Slip(
            "upside-down-negative",
            lambda bias: -1 / half_life(bias),
            "the fraction is upside down, and its sign is wrong. Solve n · ln(gate) = ln(1/2) for n.",
        ),
        Slip(
            "multiplies",
            lambda bias: math.log(0.5) * math.log(sigmoid(bias)),
            "the two logarithms are multiplied. Solve n · ln(gate) = ln(1/2) for n.",
        ),
        Slip(
            "difference",
            lambda bias: math.log(2) - math.log(sigmoid(bias)),
            "ln 2 and −ln(gate) are added. Divide the first by the second.",
        ),
        Slip(
            "log-of-quotient",
            lambda bias: math.log(2 / -math.log(sigmoid(bias))),
            "2 is divided by −ln(gate) before the logarithm is taken. Take ln 2 first: check the "
            "parentheses.",
        ),
        Slip(
            "sum",
            lambda bias: math.log(2) + math.log(sigmoid(bias)),
            "ln 2 and ln(gate) are added. Divide ln 2 by −ln(gate).",
        ),
        Slip(
            "exponential",
            math.exp,
            "this is e^b. It is proportional to the half-life only for large biases. Compute the gate, then "
            "use the formula.",
        ),
        Slip(
            "at-least-one",
            lambda bias: max(1.0, half_life(bias)),
            "half-lives below 1 are replaced by 1. With a negative bias, less than half is left after one "
            "step, so the half-life is shorter than a step.",
        ),
        Slip(
            "half-over-gate",
            lambda bias: 0.5 / sigmoid(bias),
            "½ is divided by the gate. Solve gate ** n = 1/2 for n: that takes logarithms.",
        ),
        Slip(
            "root",
            lambda bias: 0.5 ** (1 / sigmoid(bias)),
            "½ is raised to the power of 1 / gate. The number of steps is the exponent: solve "
            "gate ** n = 1/2 for n with logarithms.",
        ),
        Slip(
            "gate-only",
            sigmoid,
            "this is the gate itself. How many times must you multiply by it until 1/2 is left?",
        ),
        Slip(
            "no-log",
            lambda bias: math.log(2) / sigmoid(bias),
            "ln 2 is divided by the gate, not by its logarithm. The denominator is −ln(gate).",
        ),
        Slip("log10-above", life_with(above=math.log10(2)), OTHER_BASE),
        Slip("log10-below", life_with(log=math.log10), OTHER_BASE),
        Slip("log2-below", life_with(log=math.log2), OTHER_BASE),
        Slip("one-decimal", lambda bias: round(half_life(bias), 1), NOT_ROUNDED),
        Slip("two-decimals", lambda bias: round(half_life(bias), 2), NOT_ROUNDED),
        Slip("whole-steps", lambda bias: float(math.ceil(half_life(bias) - 1e-9)), NOT_WHOLE),
        Slip("next-step", lambda bias: float(math.floor(half_life(bias) + 1e-9) + 1), NOT_WHOLE),
        Slip("nearest-step", lambda bias: float(round(half_life(bias))), NOT_WHOLE),
        Slip("full-steps", lambda bias: float(math.floor(half_life(bias))), NOT_WHOLE),
    ),
)

# ---- lstm_cell


LSTM_CELL = TensorExercise(
    name="lstm_cell",
    lesson=LESSON,
    inputs={
        "x": gaussian("n d"),
        "hidden": gaussian("n k"),
        "cell": gaussian("n k"),
        "w_x": gaussian("r d"),
        "w_h": gaussian("r k"),
        "b": gaussian("r"),
    },
    returns={"new_hidden": "n k", "new_cell": "n k"},
    sizes={"n": 3, "d": 5, "k": 2, "r": 8},
    other_sizes=(
        {"n": 5, "d": 3, "k": 7, "r": 28},
        {"n": 4, "d": 4, "k": 4, "r": 16},
        {"n": 1, "d": 1, "k": 1, "r": 4},
    ),
    reference=solutions.lstm_cell,
    answered_by=("torch.nn.LSTM", "torch.nn.LSTMCell", "torch.lstm", "torch.lstm_cell"),
    by_hand=ByHand(
        inputs={
            "x": [[1.0]],
            "hidden": [[1.0]],
            "cell": [[LN3 - 0.75]],
            "w_x": [[LN3], [0.0], [LN3 / 2], [0.0]],
            "w_h": [[0.0], [0.0], [0.0], [LN3]],
            "b": [0.0, 0.0, 0.0, 0.0],
        },
        answer={"new_hidden": [[0.375]], "new_cell": [[LN3 / 2]]},
        says="The pre-activations are ln 3, 0, ½ ln 3 and ln 3, so the input gate is 3/4, the forget gate "
        "1/2, the candidate tanh(½ ln 3) = 1/2 and the output gate 3/4. The old cell state is 0.349, so "
        "the new cell state is 1/2 · 0.349 + 3/4 · 1/2 = 0.549. Its tanh is 1/2, so the hidden state is "
        "3/4 · 1/2 = 0.375.",
    ),
    slips=known_mistakes(solutions.lstm_cell),
)


# ---- bias_for


BIAS_FOR = PlainExercise(
    name="bias_for",
    lesson=LESSON,
    inputs=("steps",),
    reference=solutions.bias_for,
    trains=False,
    by_hand=ByHand(
        inputs={"steps": 2.0},
        answer=math.log(1 + math.sqrt(2)),
        says="Two steps should leave one half, so the gate is √½ = 0.7071. The bias is 0.8814, because "
        "σ(0.8814) = 0.7071.",
    ),
    others=(
        lambda: (3,),
        lambda: (1.25,),
        lambda: (6.0,),
        lambda: (12.5,),
        lambda: (25,),
        lambda: (500.0,),  # a search that ends at a bias of 5 doesn't find it
    ),
    slips=known_mistakes(solutions.bias_for),
)

EXERCISES = (HALF_LIFE, LSTM_CELL, BIAS_FOR)
