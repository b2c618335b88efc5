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


def life_with(
    gate: Callable[[float], float] = sigmoid,
    log: Callable[[float], float] = math.log,
    above: float = math.log(2),
) -> Callable[[float], float]:
    """A half-life with another gate, logarithm or numerator."""
    return lambda bias: above / -log(gate(bias))


def float32_gate(bias: float) -> float:
    return torch.tensor(bias, dtype=torch.float32).sigmoid().item()


NOT_WHOLE = "the result is rounded to whole steps. Return the number as it is; it needn't be whole."
NOT_ROUNDED = "the result is rounded. Return it with all its digits."
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
            "this is the time until 1/e (37%) is left. Until one half is left, solve gate ** n = 1/2.",
        ),
        Slip(
            "negative-time-constant",
            life_with(above=-1.0),
            "1 is divided by ln(gate). Two things are wrong: ln(gate) is negative, so the sign must change, "
            "and the 1 stands for 1/e of the content instead of 1/2.",
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
        Slip("nearest-step", lambda bias: float(round(half_life(bias))), NOT_WHOLE),
        Slip("full-steps", lambda bias: float(math.floor(half_life(bias))), NOT_WHOLE),
    ),
)

# ---- lstm_cell


def scores_of(x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return (x @ w_x.mT + hidden @ w_h.mT + b).chunk(4, dim=-1)


def lstm_cell(
    x: Tensor, hidden: Tensor, cell: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    return lstm_step(scores_of(x, hidden, w_x, w_h, b), cell)


def lstm_step(scores: Sequence[Tensor], cell: Tensor) -> tuple[Tensor, Tensor]:
    write, forget, new, show = scores
    return with_hidden(show, updated(write, forget, new, cell))


def lstm_with(step: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """An LSTM cell made of `step`, which gets the scores (write, forget, new, show) and the old cell."""
    return lambda x, h, c, w_x, w_h, b: step(*scores_of(x, h, w_x, w_h, b), c)


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


def in_order(*order: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """The blocks read in another order than write, forget, new, show."""

    return lstm_with(lambda *given: lstm_step([given[i] for i in order], given[4]))


def interleave(blocks: Sequence[Tensor]) -> list[Tensor]:
    """Every fourth column in place of a block."""
    scores = torch.cat(tuple(blocks), dim=-1)
    return [scores[:, i::4] for i in range(4)]


BLOCKS = "The blocks are in torch's order: input, forget, candidate, output."
SQUASHED_CELL = (
    "the new cell goes through `tanh` before it is returned. Apply `tanh` only to compute the hidden state, "
    "and return the cell without it."
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
        says="The four scores are ln 3, 0, ½ ln 3 and ln 3, so the input gate is 3/4, the forget gate 1/2, "
        "the candidate tanh(½ ln 3) = 1/2 and the output gate 3/4. The old cell is 0.349, so the new cell is "
        "1/2 · 0.349 + 3/4 · 1/2 = 0.549. Its tanh is 1/2, so the hidden state is 3/4 · 1/2 = 0.375.",
    ),
    slips=(
        *(
            Slip(
                name,
                in_order(*order),
                f"{what} seem to be swapped. {BLOCKS}",
            )
            for name, order, what in (
                ("forget-first", (1, 0, 2, 3), "the blocks of the input gate and the forget gate"),
                ("output-third", (0, 1, 3, 2), "the blocks of the candidate and the output gate"),
                ("candidate-first", (2, 1, 0, 3), "the blocks of the candidate and the input gate"),
                ("candidate-second", (0, 2, 1, 3), "the blocks of the candidate and the forget gate"),
                ("forget-last", (0, 3, 2, 1), "the blocks of the forget gate and the output gate"),
            )
        ),
        Slip(
            "output-third-forget-first",
            in_order(1, 0, 3, 2),
            f"the blocks seem to be read as forget, input, output, candidate. {BLOCKS}",
        ),
        Slip(
            "interleaved",
            lambda *given: lstm_step(interleave(scores_of(*given[:2], *given[3:])), given[2]),
            "each gate gets every fourth column of the scores. It should get a block of `width` adjacent "
            "columns: `chunk(4, dim=-1)`.",
        ),
        Slip(
            "mixed-rows",
            lambda *given: lstm_step(
                torch.cat(scores_of(*given[:2], *given[3:]), -1).reshape(4, *given[2].shape), given[2]
            ),
            "the scores seem to be reshaped to (4, batch, width), which mixes up the batch. Split the last "
            "axis: `chunk(4, dim=-1)`.",
        ),
        Slip(
            "sigmoid-candidate",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + i.sigmoid() * g.sigmoid())),
            "the candidate goes through a sigmoid. It isn't a gate and may be negative: use `tanh`.",
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
            "everything goes through a sigmoid. The candidate and the new cell go through `tanh`.",
        ),
        Slip(
            "hidden-twice",
            lambda *given: (lstm_cell(*given)[0],) * 2,
            "the new hidden state is returned twice. The second output is the new cell.",
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
            "the output gate is multiplied by the new cell itself. Multiply it by the `tanh` of the new "
            "cell.",
        ),
        Slip(
            "sigmoid-out",
            lstm_with(
                lambda i, f, g, o, c: (o.sigmoid() * updated(i, f, g, c).sigmoid(), updated(i, f, g, c))
            ),
            "the hidden state contains the sigmoid of the new cell. It should contain the `tanh`.",
        ),
        Slip(
            "output-unused",
            lstm_with(lambda i, f, g, o, c: (updated(i, f, g, c).tanh(), updated(i, f, g, c))),
            "the hidden state is the `tanh` of the new cell. The output gate should multiply it.",
        ),
        Slip(
            "shows-old-cell",
            lstm_with(lambda i, f, g, o, c: (o.sigmoid() * c.tanh(), updated(i, f, g, c))),
            "the hidden state is computed from the old cell. Update the cell first, then use the new one.",
        ),
        Slip(
            "returns-old-cell",
            lambda *given: (lstm_cell(*given)[0], given[2]),
            "the old cell is returned. Return the new one.",
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
            "the old cell isn't kept. The new cell is forget gate · old cell + input gate · candidate.",
        ),
        Slip(
            "keeps-hidden",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, h, w_x, w_h, b),
            "the forget gate is multiplied by the hidden state. Multiply it by the old cell.",
        ),
        Slip(
            "all-kept",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, c + i.sigmoid() * g.tanh())),
            "the whole old cell is kept: the forget gate isn't used. The original LSTM of 1997 had none; "
            "this one does.",
        ),
        Slip(
            "one-minus-forget",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, (1 - f.sigmoid()) * c + i.sigmoid() * g.tanh())),
            "the old cell is multiplied by 1 − forget gate. Despite its name, a gate of 1 keeps everything.",
        ),
        Slip(
            "coupled",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh())),
            "the candidate is multiplied by 1 − forget gate, as in a GRU. An LSTM has a separate input gate.",
        ),
        Slip(
            "forget-bias-added",
            lstm_with(lambda i, f, g, o, c: lstm_step((i, f + 1, g, o), c)),
            "1 is added to the forget gate's score. An initial bias of 1 is common, but here the bias is "
            "already in `b`.",
        ),
        Slip(
            "input-unused",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c + g.tanh())),
            "the candidate is added as it is. Multiply it by the input gate.",
        ),
        Slip(
            "multiplied",
            lstm_with(lambda i, f, g, o, c: with_hidden(o, f.sigmoid() * c * i.sigmoid() * g.tanh())),
            "the two terms of the new cell are multiplied. Add them.",
        ),
        Slip(
            "no-bias",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, h, c, w_x, w_h, 0 * b),
            "the bias `b` isn't added to the scores.",
        ),
        Slip(
            "no-state",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, 0 * h, c, w_x, w_h, b),
            "`hidden` isn't used in the scores. Add the product of `hidden` and the transpose of `w_h`.",
        ),
        Slip(
            "no-word",
            lambda x, h, c, w_x, w_h, b: lstm_cell(0 * x, h, c, w_x, w_h, b),
            "`x` isn't used in the scores. Add the product of `x` and the transpose of `w_x`.",
        ),
        Slip(
            "gates-from-cell",
            lambda x, h, c, w_x, w_h, b: lstm_cell(x, c, c, w_x, w_h, b),
            "the gates are computed from the old cell. Compute them from `x` and the hidden state.",
        ),
        Slip(
            "squeezed",
            lambda *given: tuple(output.squeeze(0) for output in lstm_cell(*given)),
            "`squeeze` removes the batch axis if there is only one sentence. Leave all axes in place.",
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
