"""The exercises of lesson 03: from a bias to a half-life, one LSTM step, and from a half-life to a bias."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TensorExercise, gaussian

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


def sums_of(x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return (x @ w_x.mT + hidden @ w_h.mT + b).chunk(4, dim=-1)


def lstm_cell(
    x: Tensor, hidden: Tensor, cell: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    return lstm_step(sums_of(x, hidden, w_x, w_h, b), cell)


def lstm_step(sums: Sequence[Tensor], cell: Tensor) -> tuple[Tensor, Tensor]:
    write, forget, new, show = sums
    return with_hidden(show, updated(write, forget, new, cell))


def lstm_with(step: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """An LSTM cell made of `step`, which gets the pre-activations and the old cell."""
    return lambda x, h, c, w_x, w_h, b: step(*sums_of(x, h, w_x, w_h, b), c)


def with_hidden(show: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The hidden state that the output gate makes of a cell, and the cell."""
    return show.sigmoid() * cell.tanh(), cell


def updated(write: Tensor, forget: Tensor, new: Tensor, cell: Tensor) -> Tensor:
    return forget.sigmoid() * cell + write.sigmoid() * new.tanh()


def raw_gate(name: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """A step in which this gate has no sigmoid."""

    def step(i: Tensor, f: Tensor, g: Tensor, o: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        gates = {"input": i.sigmoid(), "forget": f.sigmoid(), "output": o.sigmoid()}
        gates[name] = {"input": i, "forget": f, "output": o}[name]
        cell = gates["forget"] * c + gates["input"] * g.tanh()
        return gates["output"] * cell.tanh(), cell

    return step


def with_matrix_products(turned: Callable[[Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """A step with `@` instead of `*`; `turned` is applied to the right factors of the new cell."""

    def step(i: Tensor, f: Tensor, g: Tensor, o: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        cell = f.sigmoid() @ turned(c) + i.sigmoid() @ turned(g.tanh())
        return o.sigmoid() @ cell.tanh(), cell

    return lstm_with(step)


def in_order(*order: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """The parts read in another order than write, forget, new, show."""

    return lstm_with(lambda *given: lstm_step([given[i] for i in order], given[4]))


def interleave(parts: Sequence[Tensor]) -> list[Tensor]:
    """Every fourth column instead of adjacent ones."""
    sums = torch.cat(tuple(parts), dim=-1)
    return [sums[:, i::4] for i in range(4)]


PARTS = "The parts are in torch's order: input, forget, cell (the candidate), output."
SWAPPED_PARTS = (
    ("forget-first", (1, 0, 2, 3), "the parts for the input gate and the forget gate"),
    ("output-third", (0, 1, 3, 2), "the parts for the candidate and the output gate"),
    ("candidate-first", (2, 1, 0, 3), "the parts for the candidate and the input gate"),
    ("candidate-second", (0, 2, 1, 3), "the parts for the candidate and the forget gate"),
    ("forget-last", (0, 3, 2, 1), "the parts for the forget gate and the output gate"),
    ("output-first", (3, 1, 2, 0), "the parts for the input gate and the output gate"),
)
OTHER_ORDERS = [
    order
    for order in permutations(range(4))
    if order not in [(0, 1, 2, 3), *(swapped for _, swapped, _ in SWAPPED_PARTS)]
]
SQUASHED_CELL = (
    "the new cell state goes through `tanh` before it is returned. Apply `tanh` only to compute the hidden "
    "state, and return the cell state without it."
)


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
    reference=lstm_cell,
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
    slips=(
        *(
            Slip(
                name,
                in_order(*order),
                f"{what} seem to be swapped. {PARTS}",
            )
            for name, order, what in SWAPPED_PARTS
        ),
        *(
            Slip(
                f"order-{''.join(map(str, order))}",
                in_order(*order),
                f"the four parts seem to be in the wrong order. {PARTS}",
            )
            for order in OTHER_ORDERS
        ),
        Slip(
            "interleaved",
            lambda *given: lstm_step(interleave(sums_of(*given[:2], *given[3:])), given[2]),
            "each gate gets every fourth column of the pre-activations. It should get hidden_size "
            "adjacent columns: `chunk(4, dim=-1)`.",
        ),
        Slip(
            "mixed-rows",
            lambda *given: lstm_step(
                torch.cat(sums_of(*given[:2], *given[3:]), -1).reshape(4, *given[2].shape), given[2]
            ),
            "the pre-activations seem to be reshaped to (4, batch, hidden_size), which mixes up the batch. "
            "Split the last axis: `chunk(4, dim=-1)`.",
        ),
        Slip(
            "sigmoid-candidate",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g.sigmoid())),
            "the candidate goes through a sigmoid. It isn't a gate and may be negative: use `tanh`.",
        ),
        Slip(
            "relu-candidate",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g.relu())),
            "the candidate goes through ReLU. Use `tanh`.",
        ),
        Slip(
            "softmax-gates",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.softmax(-1) * (f.softmax(-1) * c + i.softmax(-1) * g.tanh()).tanh(),
                    f.softmax(-1) * c + i.softmax(-1) * g.tanh(),
                )
            ),
            "the gates go through a softmax, so they compete with each other. Each component has a gate of "
            "its own: use `torch.sigmoid`.",
        ),
        Slip(
            "raw-candidate",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g)),
            "the candidate isn't passed through `tanh`.",
        ),
        Slip(
            "raw-gates",
            lstm_with(lambda i, f, g, o, c: (o * (f * c + i * g.tanh()).tanh(), f * c + i * g.tanh())),
            "the gates don't go through a sigmoid. A gate is a number between 0 and 1.",
        ),
        *(
            Slip(
                f"raw-{name}",
                lstm_with(raw_gate(name)),
                f"the {name} gate doesn't go through a sigmoid. A gate is a number between 0 and 1.",
            )
            for name in ("input", "forget", "output")
        ),
        Slip(
            "sigmoids-only",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.sigmoid() * (f.sigmoid() * c + i.sigmoid() * g.sigmoid()).sigmoid(),
                    f.sigmoid() * c + i.sigmoid() * g.sigmoid(),
                )
            ),
            "everything goes through a sigmoid. The candidate and the new cell state go through `tanh`.",
        ),
        Slip(
            "hidden-twice",
            lambda *given: (lstm_cell(*given)[0],) * 2,
            "the new hidden state is returned twice. The second output is the new cell state.",
        ),
        Slip(
            "tanh-gates",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.tanh() * (f.tanh() * c + i.tanh() * g.tanh()).tanh(),
                    f.tanh() * c + i.tanh() * g.tanh(),
                )
            ),
            "the gates go through `tanh` and can be negative. A gate is between 0 and 1: use a sigmoid.",
        ),
        Slip(
            "no-tanh-out",
            lstm_with(lambda i, f, g, o, c: (o.sigmoid() * updated(i, f, g, c), updated(i, f, g, c))),
            "the output gate is multiplied by the new cell state itself. Multiply it by the `tanh` of the "
            "new cell state.",
        ),
        Slip(
            "sigmoid-out",
            lstm_with(
                lambda i, f, g, o, c: (o.sigmoid() * updated(i, f, g, c).sigmoid(), updated(i, f, g, c))
            ),
            "the hidden state contains the sigmoid of the new cell state. It should contain the `tanh`.",
        ),
        Slip(
            "tanh-outside",
            lstm_with(
                lambda i, f, g, o, c: ((o.sigmoid() * updated(i, f, g, c)).tanh(), updated(i, f, g, c))
            ),
            "`tanh` is applied to the product of output gate and new cell state. Apply it to the new cell "
            "state, then multiply by the output gate.",
        ),
        Slip(
            "one-minus-output",
            lstm_with(
                lambda i, f, g, o, c: ((1 - o.sigmoid()) * updated(i, f, g, c).tanh(), updated(i, f, g, c))
            ),
            "the hidden state contains 1 − output gate. Multiply by the output gate itself.",
        ),
        Slip(
            "shows-candidate",
            lstm_with(lambda i, f, g, o, c: (o.sigmoid() * g.tanh(), updated(i, f, g, c))),
            "the hidden state is computed from the candidate. Compute it from the new cell state.",
        ),
        Slip(
            "hidden-added",
            lambda *given: (given[1] + lstm_cell(*given)[0], lstm_cell(*given)[1]),
            "the old hidden state is added to the new one. It only enters the pre-activations.",
        ),
        Slip(
            "output-unused",
            lstm_with(lambda i, f, g, o, c: (updated(i, f, g, c).tanh(), updated(i, f, g, c))),
            "the hidden state is the `tanh` of the new cell state. The output gate should multiply it.",
        ),
        Slip(
            "shows-old-cell",
            lstm_with(lambda i, f, g, o, c: (o.sigmoid() * c.tanh(), updated(i, f, g, c))),
            "the hidden state is computed from the old cell state. Update the cell state first, then use "
            "the new one.",
        ),
        Slip(
            "returns-old-cell",
            lambda *given: (lstm_cell(*given)[0], given[2]),
            "the old cell state is returned. Return the new one.",
        ),
        Slip(
            "squashed-cell",
            lstm_with(
                lambda i, f, g, o, c: (o.sigmoid() * updated(i, f, g, c).tanh(), updated(i, f, g, c).tanh())
            ),
            SQUASHED_CELL,
        ),
        Slip(
            "squashed-twice",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, updated(i, f, g, c).tanh())),
            SQUASHED_CELL,
        ),
        Slip(
            "nothing-kept",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, i.sigmoid() * g.tanh())),
            "the old cell state isn't kept. The new cell state is forget gate · old cell state + input gate "
            "· candidate.",
        ),
        Slip(
            "keeps-hidden",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, h, w_x, w_h, b),
            "the forget gate is multiplied by the hidden state. Multiply it by the old cell state.",
        ),
        Slip(
            "all-kept",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, c + i.sigmoid() * g.tanh())),
            "the whole old cell state is kept: the forget gate isn't used. The original LSTM of 1997 had "
            "none; this one has one.",
        ),
        Slip(
            "one-minus-forget",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, (1 - f.sigmoid()) * c + i.sigmoid() * g.tanh())),
            "the old cell state is multiplied by 1 − forget gate. Despite the name, a gate of 1 keeps "
            "everything.",
        ),
        Slip(
            "coupled",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh())),
            "the candidate is multiplied by 1 − forget gate, as in a GRU. An LSTM has a separate input gate.",
        ),
        Slip(
            "forget-bias-added",
            lstm_with(lambda i, f, g, o, c: lstm_step((i, f + 1, g, o), c)),
            "1 is added to the forget gate's pre-activation. An initial bias of 1 is common, but here the "
            "bias is already in `b`.",
        ),
        Slip(
            "coupled-to-input",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh())),
            "the old cell state is multiplied by 1 − input gate. An LSTM has a separate forget gate.",
        ),
        Slip(
            "one-minus-input",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + (1 - i.sigmoid()) * g.tanh())),
            "the candidate is multiplied by 1 − input gate. Multiply it by the input gate itself.",
        ),
        Slip(
            "forgets-new",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * (c + i.sigmoid() * g.tanh()))),
            "the forget gate also scales the new content. It should scale only the old cell state: check the "
            "parentheses.",
        ),
        Slip(
            "squashed-old-cell",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c.tanh() + i.sigmoid() * g.tanh())),
            "the old cell state goes through `tanh` before it is kept. Multiply the old cell state itself "
            "by the forget gate.",
        ),
        Slip(
            "subtracted",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c - i.sigmoid() * g.tanh())),
            "the new content is subtracted. Add it.",
        ),
        Slip(
            "linear",
            lstm_with(lambda i, f, g, o, c: (o * (f * c + i * g), f * c + i * g)),
            "the pre-activations are used without a sigmoid or `tanh`. Apply the sigmoid to the gates, and "
            "`tanh` to the candidate and to the new cell state.",
        ),
        Slip(
            "linear-cell",
            lstm_with(lambda i, f, g, o, c: (o * (f * c + i * g).tanh(), f * c + i * g)),
            "the pre-activations are used without a sigmoid or `tanh`. Apply the sigmoid to the gates and "
            "`tanh` to the candidate.",
        ),
        *(
            Slip(
                name,
                with_matrix_products(turned),
                "the gates are multiplied with `@`, the matrix product. ⊙ is the elementwise product, `*`.",
            )
            for name, turned in (
                ("matrix-products", lambda factor: factor),
                ("matrix-products-transposed", lambda factor: factor.mT),
            )
        ),
        Slip(
            "gates-added",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() + g.tanh())),
            "the input gate is added to the candidate. Multiply the two.",
        ),
        Slip(
            "input-unused",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + g.tanh())),
            "the whole candidate is added. Multiply it by the input gate first.",
        ),
        Slip(
            "multiplied",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c * i.sigmoid() * g.tanh())),
            "the two terms of the new cell state are multiplied. Add them.",
        ),
        Slip(
            "no-bias",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, c, w_x, w_h, 0 * b),
            "the bias `b` isn't added to the pre-activations.",
        ),
        Slip(
            "bias-twice",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, c, w_x, w_h, 2 * b),
            "the bias `b` is added twice. It is already the sum of torch's two biases.",
        ),
        Slip(
            "squashed-scores",
            lambda *given: lstm_step([part.tanh() for part in sums_of(*given[:2], *given[3:])], given[2]),
            "the pre-activations go through `tanh` before the gates are computed, as in a plain RNN. Apply "
            "the sigmoid to the pre-activations themselves.",
        ),
        Slip(
            "no-state",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, 0 * h, c, w_x, w_h, b),
            "`hidden` isn't used in the pre-activations. Add the product of `hidden` and the transpose of "
            "`w_h`.",
        ),
        Slip(
            "no-word",
            lambda x, h, c, w_x, w_h, b: lstm_cell(0 * x, h, c, w_x, w_h, b),
            "`x` isn't used in the pre-activations. Add the product of `x` and the transpose of `w_x`.",
        ),
        Slip(
            "gates-from-cell",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, c, c, w_x, w_h, b),
            "the gates are computed from the old cell state. Compute them from `x` and the hidden state.",
        ),
        Slip(
            "squeezed",
            lambda *given: tuple(output.squeeze(0) for output in lstm_cell(*given)),
            "`squeeze` removes the batch axis if there is only one sentence. Leave all axes in place.",
        ),
    ),
)

# ---- bias_for


def bias_for(steps: float) -> float:
    gate = 0.5 ** (1 / steps)
    return math.log(gate / (1 - gate))


def bias_with(gate: Callable[[float], float]) -> Callable[[float], float]:
    """The bias of another gate."""
    return lambda steps: logit(gate(steps))


def gate_for(steps: float) -> float:
    return 0.5 ** (1 / steps)


def logit(gate: float) -> float:
    return math.log(gate / (1 - gate))


NO_GATE = "Find the gate f with f ** steps = 1/2 first, then the bias b with σ(b) = f."

BIAS_FOR = PlainExercise(
    name="bias_for",
    lesson=LESSON,
    inputs=("steps",),
    reference=bias_for,
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
    slips=(
        Slip(
            "gate-only",
            gate_for,
            "this is the gate. Which bias b gives this gate, so that σ(b) = gate?",
        ),
        Slip(
            "sigmoid-again",
            lambda steps: sigmoid(gate_for(steps)),
            "the sigmoid is applied to the gate. You need its inverse: solve σ(b) = gate for b.",
        ),
        Slip(
            "log-gate",
            lambda steps: math.log(gate_for(steps)),
            "this is ln(gate). The bias is ln(gate / (1 − gate)), because σ(b) = 1 / (1 + e^(−b)).",
        ),
        Slip(
            "minus-log-gate",
            lambda steps: -math.log(gate_for(steps)),
            "this is −ln(gate). The bias is ln(gate / (1 − gate)), because σ(b) = 1 / (1 + e^(−b)).",
        ),
        Slip(
            "log-leak",
            lambda steps: math.log(1 - gate_for(steps)),
            "this is ln(1 − gate). The bias is ln(gate / (1 − gate)), because σ(b) = 1 / (1 + e^(−b)).",
        ),
        Slip(
            "minus-log-leak",
            lambda steps: -math.log(1 - gate_for(steps)),
            "this is −ln(1 − gate). It is close to the bias only if the gate is close to 1; the bias is "
            "ln(gate / (1 − gate)).",
        ),
        Slip(
            "odds",
            lambda steps: gate_for(steps) / (1 - gate_for(steps)),
            "this is gate / (1 − gate). Its logarithm is missing.",
        ),
        Slip(
            "inverse-odds",
            lambda steps: (1 - gate_for(steps)) / gate_for(steps),
            "this is (1 − gate) / gate, which is e^(−b). Take its logarithm and change the sign.",
        ),
        Slip(
            "sign",
            lambda steps: -bias_for(steps),
            "the sign is wrong: σ(−b) = 1 − σ(b). From e^(−b) = (1 − gate) / gate it follows that b is minus "
            "the logarithm of (1 − gate) / gate.",
        ),
        *(
            Slip(
                f"plus-{name}",
                function,
                "there is 1 + gate or 1 / gate + 1 where a minus sign is needed: from 1 + e^(−b) = 1 / gate "
                "it follows that e^(−b) = 1 / gate − 1.",
            )
            for name, function in (
                ("one", lambda steps: -math.log(1 / gate_for(steps) + 1)),
                ("one-positive", lambda steps: math.log(1 / gate_for(steps) + 1)),
            )
        ),
        Slip(
            "product",
            lambda steps: math.log(gate_for(steps) * (1 - gate_for(steps))),
            "gate and 1 − gate are multiplied. Divide the gate by 1 − gate.",
        ),
        Slip(
            "half-over-steps",
            bias_with(lambda steps: 0.5 / steps),
            "the gate is 0.5 / steps. Solve gate ** steps = 1/2: the gate is a root of 1/2, close to 1 for "
            "long half-lives.",
        ),
        Slip(
            "rate-as-gate",
            bias_with(lambda steps: math.log(2) / steps),
            "the gate is ln 2 / steps, but that is −ln(gate). The gate is e^(−ln 2 / steps).",
        ),
        Slip(
            "half-life-as-gate",
            lambda steps: half_life(gate_for(steps)),
            "`half_life` is applied to the gate. You need the bias b with σ(b) = gate.",
        ),
        Slip(
            "inverse-tanh",
            lambda steps: math.atanh(gate_for(steps)),
            "the inverse of tanh is applied to the gate. A gate uses the sigmoid.",
        ),
        Slip(
            "half-to-the-steps",
            bias_with(lambda steps: 0.5**steps),
            "the gate is 0.5 ** steps. That is what is left after `steps` steps with a gate of 0.5. You need "
            "gate ** steps = 0.5, so the exponent is 1 / steps.",
        ),
        Slip(
            "linear-gate",
            bias_with(lambda steps: 1 - 0.5 / steps),
            "the gate is 1 − 0.5 / steps. That would be right if every step lost the same amount. But each "
            "step loses a fraction of what is left, so solve gate ** steps = 1/2.",
        ),
        Slip(
            "mean-lifetime",
            bias_with(lambda steps: 1 - 1 / steps),
            "the gate is 1 − 1 / steps, which makes `steps` the mean lifetime. For the half-life, solve "
            "gate ** steps = 1/2.",
        ),
        Slip(
            "time-constant",
            bias_with(lambda steps: math.exp(-1 / steps)),
            "the gate is e^(−1 / steps), so 1/e (37%) is left after `steps` steps. For one half, solve "
            "gate ** steps = 1/2.",
        ),
        Slip(
            "two-over",
            bias_with(lambda steps: math.exp(-2 / steps)),
            "the gate is e^(−2 / steps). Solve gate ** steps = 1/2: the gate is e^(−ln 2 / steps).",
        ),
        Slip(
            "forward-formula",
            lambda steps: half_life(steps),
            "this treats `steps` as a bias and computes a half-life. Here the half-life is given, and you "
            f"need the bias. {NO_GATE}",
        ),
        Slip(
            "log-of-steps",
            lambda steps: math.log(steps),
            f"this is ln(steps), which is only roughly right. {NO_GATE}",
        ),
        Slip(
            "large-bias-rule",
            lambda steps: math.log(steps / math.log(2)),
            f"ln(steps / ln 2) is only an approximation for long half-lives. {NO_GATE}",
        ),
        Slip(
            "log10",
            lambda steps: bias_for(steps) / math.log(10),
            "the logarithm has base 10. Use `math.log`, the natural logarithm.",
        ),
        Slip(
            "log2",
            lambda steps: bias_for(steps) / math.log(2),
            "the logarithm has base 2. Use `math.log`, the natural logarithm.",
        ),
        Slip(
            "half-the-steps",
            lambda steps: bias_for(steps / 2),
            "the half-life is only half of what was asked for. Use `steps` as it is: gate ** steps = 1/2.",
        ),
        Slip(
            "log-over-leak",
            lambda steps: math.log(gate_for(steps)) / (1 - gate_for(steps)),
            "ln(gate) is divided by 1 − gate. Take the logarithm of the whole quotient gate / (1 − gate).",
        ),
        Slip(
            "quotient-of-logs",
            lambda steps: math.log(gate_for(steps)) / math.log(1 - gate_for(steps)),
            "ln(gate) is divided by ln(1 − gate). Take the logarithm of the quotient gate / (1 − gate).",
        ),
        *(
            Slip(f"reciprocal-{name}", function, f"{what} {NO_GATE}")
            for name, function, what in (
                (
                    "half-life",
                    lambda steps: 1 / half_life(steps),
                    "the inverse function isn't 1 / half_life.",
                ),
                ("steps", lambda steps: 1 / steps, "this is 1 / steps."),
                ("odds", lambda steps: logit(1 / steps), "the gate is 1 / steps."),
                ("negative", lambda steps: -half_life(steps), "the inverse function isn't −half_life."),
            )
        ),
        *(
            Slip(f"{name}-of-steps", function, f"this is a logarithm of `steps`. {NO_GATE}")
            for name, function in (("log2", math.log2), ("log10", math.log10))
        ),
        Slip(
            "twice-the-steps",
            lambda steps: bias_for(2 * steps),
            "the half-life is twice what was asked for. Use `steps` as it is.",
        ),
        *(
            Slip(
                f"rounded-{digits}",
                lambda steps, digits=digits: round(bias_for(steps), digits),
                "the result is rounded. Return it without rounding.",
            )
            for digits in (0, 1, 2, 3)
        ),
        *(
            Slip(
                f"rounded-gate-{digits}",
                bias_with(lambda steps, digits=digits: round(gate_for(steps), digits)),
                "the gate is rounded. Use all its digits: the closer it is to 1, the more they matter.",
            )
            for digits in (2, 3, 4)
        ),
        Slip(
            "whole-steps",
            lambda steps: bias_for(max(int(steps), 1)),
            "`steps` is rounded to a whole number. Use it as it is.",
        ),
    ),
)

EXERCISES = (HALF_LIFE, LSTM_CELL, BIAS_FOR)
