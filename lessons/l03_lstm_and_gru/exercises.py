"""The exercises of lesson 03: a half-life, the LSTM cell, a memory by design, the GRU cell, and a counter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, Inputs, PlainExercise, Slip, TensorExercise, gaussian

LESSON = "lstm_and_gru"
LN3 = math.log(3)  # σ(ln 3) is exactly 3/4, tanh(½ ln 3) exactly 1/2


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


# ---- half_life


def half_life(forget_bias: float) -> float:
    return math.log(2) / -math.log(sigmoid(forget_bias))


HALF_LIFE = PlainExercise(
    name="half_life",
    lesson=LESSON,
    inputs=("forget_bias",),
    reference=half_life,
    by_hand=ByHand(
        inputs={"forget_bias": 0.0},
        answer=1.0,
        says="A bias of 0 opens the gate to σ(0) = 1/2. After one step half is left: the half-life is 1.",
    ),
    others=(
        lambda: (1.0,),
        lambda: (2.0,),
        lambda: (3.0,),
        lambda: (-1.0,),
        lambda: (LN3,),
    ),
    slips=(
        Slip(
            "time-constant",
            lambda bias: 1 / -math.log(sigmoid(bias)),
            "this is the time until 1/e is left, 37%. For one half, ln 2 stands above the line.",
        ),
        Slip(
            "one-over-leak",
            lambda bias: 1 / (1 - sigmoid(bias)),
            "this is 1 / (1 − gate): how long it would take if the same amount were lost at each step. "
            "What is lost is a share of what is left, so solve gate ** n = 1/2.",
        ),
        Slip(
            "half-over-leak",
            lambda bias: 0.5 / (1 - sigmoid(bias)),
            "this loses the same amount at each step. What is lost is a share of what is left: solve "
            "gate ** n = 1/2.",
        ),
        Slip(
            "negative",
            lambda bias: math.log(2) / math.log(sigmoid(bias)),
            "the sign is missing: the logarithm of a gate below 1 is negative, and so is that of 1/2.",
        ),
        Slip(
            "upside-down",
            lambda bias: math.log(sigmoid(bias)) / math.log(0.5),
            "this is the fraction upside down. From n · ln(gate) = ln(1/2), divide by ln(gate).",
        ),
        Slip(
            "gate-only",
            sigmoid,
            "this is the gate itself. How many times must it be multiplied with itself until 1/2 is left?",
        ),
        Slip(
            "whole-steps",
            lambda bias: float(math.ceil(half_life(bias) - 1e-9)),
            "this counts whole steps. Leave the number as it is: 2.2 says more than 3.",
        ),
    ),
)

# ---- lstm_cell


def scores_of(x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return (x @ w_x.mT + hidden @ w_h.mT + b).chunk(4, dim=-1)


def lstm_cell(
    x: Tensor, hidden: Tensor, cell: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    write, forget, new, show = scores_of(x, hidden, w_x, w_h, b)
    return with_hidden(show, updated(write, forget, new, cell))


def lstm_with(step: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """An LSTM cell made of `step`, which gets the scores (write, forget, new, show) and the old cell."""
    return lambda x, h, c, w_x, w_h, b: step(*scores_of(x, h, w_x, w_h, b), c)


def with_hidden(show: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The hidden state that the output gate makes of a cell, and the cell."""
    return show.sigmoid() * cell.tanh(), cell


def updated(write: Tensor, forget: Tensor, new: Tensor, cell: Tensor) -> Tensor:
    return forget.sigmoid() * cell + write.sigmoid() * new.tanh()


def in_order(*order: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """The blocks read in another order than write, forget, new, show."""

    def step(*given: Tensor) -> tuple[Tensor, Tensor]:
        write, forget, new, show = (given[i] for i in order)
        return with_hidden(show, updated(write, forget, new, given[4]))

    return lstm_with(step)


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
        says="The four scores are ln 3, 0, ½ ln 3 and ln 3, so the input gate is 3/4, the forget gate 1/2, "
        "the candidate tanh(½ ln 3) = 1/2 and the output gate 3/4. The cell was 0.349: it becomes 1/2 · "
        "0.349 + 3/4 · 1/2 = 0.549. Its tanh is 1/2, and the hidden state 3/4 · 1/2 = 0.375.",
    ),
    slips=(
        Slip(
            "forget-first",
            in_order(1, 0, 2, 3),
            "the first two blocks have changed places. Torch's order is input, forget, candidate, output.",
        ),
        Slip(
            "output-third",
            in_order(0, 1, 3, 2),
            "the last two blocks have changed places. Torch's order is input, forget, candidate, output.",
        ),
        Slip(
            "candidate-first",
            in_order(2, 1, 0, 3),
            "the candidate and the input gate have changed places. Torch's order is input, forget, "
            "candidate, output.",
        ),
        Slip(
            "sigmoid-candidate",
            lstm_with(
                lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g.sigmoid()),
            ),
            "the candidate goes through a sigmoid. It is content, not a gate, and may be negative: `tanh`.",
        ),
        Slip(
            "raw-candidate",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g)),
            "the candidate is used as it came, without `tanh`.",
        ),
        Slip(
            "no-tanh-out",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.sigmoid() * updated(i, f, g, c),
                    updated(i, f, g, c),
                )
            ),
            "the hidden state shows the cell itself. It shows the `tanh` of the cell.",
        ),
        Slip(
            "shows-old-cell",
            lstm_with(lambda i, f, g, o, c: (o.sigmoid() * c.tanh(), updated(i, f, g, c))),
            "the hidden state is made from the old cell. Update the cell first, then show it.",
        ),
        Slip(
            "squashed-cell",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.sigmoid() * updated(i, f, g, c).tanh(),
                    updated(i, f, g, c).tanh(),
                )
            ),
            "the cell that is handed on went through `tanh`. Only what is shown does: the cell itself is "
            "kept and added to, and nothing else. That is its whole point.",
        ),
        Slip(
            "nothing-kept",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, i.sigmoid() * g.tanh())),
            "the old cell is not kept. The new cell is forget · old cell + input · candidate.",
        ),
        Slip(
            "all-kept",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, c + i.sigmoid() * g.tanh())),
            "the old cell is kept whole: the forget gate is not used. (That was the LSTM of 1997.)",
        ),
        Slip(
            "coupled",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh())),
            "the input gate is 1 − forget gate. That is a GRU's bargain; an LSTM's two gates are free.",
        ),
        Slip(
            "input-unused",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + g.tanh())),
            "the candidate is added whole. The input gate says how much of it is written.",
        ),
        Slip(
            "tanh-gates",
            lstm_with(
                lambda i, f, g, o, c: (
                    o.tanh() * (f.tanh() * c + i.tanh() * g.tanh()).tanh(),
                    f.tanh() * c + i.tanh() * g.tanh(),
                )
            ),
            "the gates go through `tanh`, and can be negative. A gate is a share between 0 and 1: `sigmoid`.",
        ),
        Slip(
            "no-bias",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, c, w_x, w_h, 0 * b),
            "the bias `b` is not added to the scores.",
        ),
        Slip(
            "no-state",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, 0 * h, c, w_x, w_h, b),
            "the hidden state has no say in the gates. Add `hidden @ w_h.T` to the scores.",
        ),
        Slip(
            "no-word",
            lambda x, h, c, w_x, w_h, b: lstm_cell(0 * x, h, c, w_x, w_h, b),
            "the word has no say in the gates. Add `x @ w_x.T` to the scores.",
        ),
        Slip(
            "gates-from-cell",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, c, c, w_x, w_h, b),
            "the gates look at the cell. They look at the word and at the hidden state.",
        ),
    ),
)

# ---- design_memory

WEIGHT_NAMES = ("forget_bias", "forget_mark", "write_bias", "write_mark", "new_sign")


def design_memory(lag: int) -> dict[str, float]:
    keep = 0.5 ** (1 / (2 * lag))
    return {
        "forget_bias": math.log(keep / (1 - keep)),
        "forget_mark": -20.0,
        "write_bias": -10.0,
        "write_mark": 20.0,
        "new_sign": 5.0,
    }


def cell_values(
    design: Mapping[str, float], marks: Sequence[float], signs: Sequence[float], cell: float = 0.0
) -> list[float]:
    """The cell after each step, from an initial value."""
    values = []
    for mark, sign in zip(marks, signs, strict=True):
        forget = sigmoid(design["forget_bias"] + design["forget_mark"] * mark)
        write = sigmoid(design["write_bias"] + design["write_mark"] * mark)
        cell = forget * cell + write * math.tanh(design["new_sign"] * sign)
        values.append(cell)
    return values


def is_complete(inputs: Inputs, design: Mapping[str, float]) -> str:
    missing = [name for name in WEIGHT_NAMES if name not in design]
    if missing:
        return f"The answer is a dictionary of five numbers; `{missing[0]}` is missing."
    bad = [name for name in WEIGHT_NAMES if not math.isfinite(float(design[name]))]
    return f"`{bad[0]}` is not a finite number." if bad else ""


def stores(inputs: Inputs, design: Mapping[str, float]) -> str:
    held = cell_values(design, [1], [1])[0]
    if held >= 0.5:
        return ""
    write = sigmoid(design["write_bias"] + design["write_mark"])
    return (
        f"A marked +1 leaves {held:.2f} in the cell; at least 0.5 should get in. At a mark the input gate is "
        f"{write:.2f}, and the candidate {math.tanh(design['new_sign']):.2f}."
    )


def holds(inputs: Inputs, design: Mapping[str, float]) -> str:
    left = sigmoid(design["forget_bias"]) ** inputs[0]
    if left > 0.5:
        return ""
    return (
        f"Of what was stored {left:.0%} is left after {inputs[0]} steps; more than half should be. Between "
        f"marks the forget gate is σ(forget_bias) = {sigmoid(design['forget_bias']):.4f}."
    )


def fades(inputs: Inputs, design: Mapping[str, float]) -> str:
    left = sigmoid(design["forget_bias"]) ** (4 * inputs[0])
    if left < 0.5:
        return ""
    return (
        f"After {4 * inputs[0]} steps, four times the lag, still {left:.0%} is left; less than half should "
        "be. Choose the half-life for this `lag`, and work the bias out from it."
    )


def ignores_noise(inputs: Inputs, design: Mapping[str, float]) -> str:
    lag = inputs[0]
    added = cell_values(design, [0] * lag, [1.0] * lag)[-1]  # all alike: nothing is worse
    if abs(added) <= 0.1:
        return ""
    return (
        f"What comes without a mark gets into the cell too: {lag} unmarked signs, in the worst case all +1, "
        f"add up to {added:.2f}; at most 0.1 is allowed. Without a mark the input gate is σ(write_bias) = "
        f"{sigmoid(design['write_bias']):.4f}."
    )


def renews(inputs: Inputs, design: Mapping[str, float]) -> str:
    held = cell_values(design, [1, 1], [1, -1])[-1]
    if held <= -0.5:
        return ""
    return (
        f"A marked +1, then a marked −1: the cell holds {held:.2f}; −0.5 or less is wanted. At a mark the "
        "old content must go: what is the forget gate there?"
    )


DESIGN_MEMORY = PlainExercise(
    name="design_memory",
    lesson=LESSON,
    inputs=("lag",),
    design=True,
    reference=design_memory,
    demands=(is_complete, stores, holds, fades, ignores_noise, renews),
    by_hand=ByHand(
        inputs={"lag": 40},
        answer=design_memory(40),
        says="A half-life of 80 steps: the gate is 0.5 ** (1/80) = 0.9914, its bias ln(0.9914/0.0086) = "
        "4.74.",
    ),
    others=(lambda: (10,), lambda: (100,)),
)

# ---- gru_cell


def gru_parts(x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> tuple:
    """Reset gate, update gate, and the candidate's two parts: from the word and from the state."""
    reset_x, keep_x, new_x = (x @ w_x.mT + b_x).chunk(3, dim=-1)
    reset_h, keep_h, new_h = (hidden @ w_h.mT + b_h).chunk(3, dim=-1)
    return (reset_x + reset_h).sigmoid(), (keep_x + keep_h).sigmoid(), new_x, new_h


def gru_cell(x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    reset, keep, new_x, new_h = gru_parts(x, hidden, w_x, w_h, b_x, b_h)
    return (1 - keep) * torch.tanh(new_x + reset * new_h) + keep * hidden


def gru_with(step: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A GRU cell made of `step`, which gets the parts and the old state."""
    return lambda x, h, *weights: step(*gru_parts(x, h, *weights), h)


def first_version(x, hidden, w_x, w_h, b_x, b_h):
    reset_x, keep_x, new_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    w_reset, w_keep, w_new = w_h.chunk(3)
    b_reset, b_keep, b_new = b_h.chunk(3)
    reset = torch.sigmoid(reset_x + hidden @ w_reset.T + b_reset)
    keep = torch.sigmoid(keep_x + hidden @ w_keep.T + b_keep)
    new = torch.tanh(new_x + (reset * hidden) @ w_new.T + b_new)
    return (1 - keep) * new + keep * hidden


def bias_outside(x, hidden, w_x, w_h, b_x, b_h):
    k = hidden.shape[-1]
    reset, keep, new_x, new_h = gru_parts(x, hidden, w_x, w_h, b_x, b_h)
    b_new = b_h[2 * k :]
    return (1 - keep) * torch.tanh(new_x + reset * (new_h - b_new) + b_new) + keep * hidden


GRU_CELL = TensorExercise(
    name="gru_cell",
    lesson=LESSON,
    inputs={
        "x": gaussian("n d"),
        "hidden": gaussian("n k"),
        "w_x": gaussian("r d"),
        "w_h": gaussian("r k"),
        "b_x": gaussian("r"),
        "b_h": gaussian("r"),
    },
    returns={"new_hidden": "n k"},
    sizes={"n": 3, "d": 5, "k": 2, "r": 6},
    other_sizes=(
        {"n": 5, "d": 3, "k": 7, "r": 21},
        {"n": 4, "d": 4, "k": 4, "r": 12},
        {"n": 1, "d": 1, "k": 1, "r": 3},
    ),
    reference=gru_cell,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={
            "x": [[1.0]],
            "hidden": [[1.0]],
            "w_x": [[0.0], [LN3], [0.0]],
            "w_h": [[0.0], [0.0], [LN3 / 2]],
            "b_x": [0.0, 0.0, 0.0],
            "b_h": [0.0, 0.0, LN3 / 2],
        },
        answer={"new_hidden": [[0.875]]},
        says="The reset gate is σ(0) = 1/2, the update gate σ(ln 3) = 3/4. The state's part of the "
        "candidate is ½ ln 3 · 1 + ½ ln 3 = ln 3, and the reset gate lets half of it through: tanh(½ ln 3) "
        "= 1/2. So 1/4 · 1/2 + 3/4 · 1 = 0.875.",
    ),
    slips=(
        Slip(
            "bias-outside",
            bias_outside,
            "the product with `w_new` is reset, but its bias is not. The gate takes the whole: product "
            "and bias.",
        ),
        Slip(
            "blend-turned-round",
            gru_with(lambda r, z, nx, nh, h: z * torch.tanh(nx + r * nh) + (1 - z) * h),
            "the update gate blends the other way round: here 1 means keep the old state.",
        ),
        Slip(
            "no-reset",
            gru_with(lambda r, z, nx, nh, h: (1 - z) * torch.tanh(nx + nh) + z * h),
            "the reset gate is not used.",
        ),
        Slip(
            "resets-the-word",
            gru_with(lambda r, z, nx, nh, h: (1 - z) * torch.tanh(r * (nx + nh)) + z * h),
            "the reset gate takes the word's part too. It is for the state's part alone.",
        ),
        Slip(
            "resets-twice",
            gru_with(lambda r, z, nx, nh, h: (1 - z) * torch.tanh(nx + r * nh) + z * r * h),
            "the reset gate also acts on the old state that is kept. It is for the candidate alone.",
        ),
        Slip(
            "no-tanh",
            gru_with(lambda r, z, nx, nh, h: (1 - z) * (nx + r * nh) + z * h),
            "the candidate is used without `tanh`.",
        ),
        Slip(
            "update-first",
            gru_with(lambda r, z, nx, nh, h: (1 - r) * torch.tanh(nx + z * nh) + r * h),
            "the first two blocks have changed places. Torch's order is reset, update, candidate.",
        ),
    ),
)

# ---- counter_weights


def counter_weights(symbol: int, n_symbols: int) -> tuple[Tensor, Tensor]:
    w_x = torch.zeros(4, n_symbols)
    w_x[2, symbol] = 20.0
    return w_x, torch.tensor([20.0, 20.0, 0.0, 20.0])


def run_counter(weights: tuple[Tensor, Tensor], symbols: Sequence[int]) -> float:
    """The cell after the symbols were read."""
    w_x, b = (torch.as_tensor(part, dtype=torch.float32) for part in weights)
    cell = 0.0
    for symbol in symbols:
        write, forget, new, _ = (w_x[:, symbol] + b).tolist()
        cell = sigmoid(forget) * cell + sigmoid(write) * math.tanh(new)
    return cell


def has_shapes(inputs: Inputs, weights: tuple[Tensor, Tensor]) -> str:
    shapes = [tuple(torch.as_tensor(part).shape) for part in weights]
    wanted = [(4, inputs[1]), (4,)]
    if shapes != wanted:
        return f"Two tensors are wanted, of shapes {wanted[0]} and {wanted[1]}; these have {shapes}."
    finite = all(torch.as_tensor(part).isfinite().all() for part in weights)
    return "" if finite else "There is a weight that is not a finite number."


def counts_one(inputs: Inputs, weights: tuple[Tensor, Tensor]) -> str:
    held = run_counter(weights, [inputs[0]])
    if abs(held - 1) < 0.02:
        return ""
    return f"After one {inputs[0]} the cell holds {held:.2f}; it should hold 1: input gate 1, candidate 1."


def ignores_others(inputs: Inputs, weights: tuple[Tensor, Tensor]) -> str:
    symbol, n_symbols = inputs
    for other in (other for other in range(n_symbols) if other != symbol):
        held = run_counter(weights, [other])
        if abs(held) > 0.02:
            return f"A {other} alone leaves {held:.2f} in the cell, though {symbol} is to be counted."
    return ""


def counts_all(inputs: Inputs, weights: tuple[Tensor, Tensor]) -> str:
    symbol, n_symbols = inputs
    for length in (20, 200):
        symbols = torch.randint(n_symbols, (length,), generator=torch.Generator("cpu").manual_seed(length))
        right, held = int((symbols == symbol).sum()), run_counter(weights, symbols.tolist())
        if abs(held - right) > 0.25:
            reason = " It fades: how close to 1 is the forget gate, for every symbol?" if held < right else ""
            return (
                f"Among {length} symbols there are {right} of {symbol}; the cell holds {held:.2f}. It may be "
                f"off by 0.25, no more.{reason}"
            )
    return ""


COUNTER_WEIGHTS = PlainExercise(
    name="counter_weights",
    lesson=LESSON,
    inputs=("symbol", "n_symbols"),
    design=True,
    reference=counter_weights,
    demands=(has_shapes, counts_one, ignores_others, counts_all),
    by_hand=ByHand(
        inputs={"symbol": 1, "n_symbols": 3},
        answer=counter_weights(1, 3),
        says="Forget gate 1, input gate 1, and a candidate that is 1 for the symbol and 0 for all others.",
    ),
    others=(lambda: (0, 2), lambda: (4, 7)),
)

EXERCISES = (HALF_LIFE, LSTM_CELL, DESIGN_MEMORY, GRU_CELL, COUNTER_WEIGHTS)
