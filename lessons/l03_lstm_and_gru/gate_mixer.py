"""The gate mixer: how forget gate and input gate decide how long a cell remembers.

    >>> round(half_life(1.0), 1), round(half_life(5.0))         # forget biases, half-lives in steps
    (2.2, 103)
    >>> compute(forget_bias=0.0, write=0.0, steps=10)["remaining"]    # half, ten times over
    0.0009765625

One cell starts with 1. At each step it is multiplied by its forget gate, and the input gate times a candidate
is added. The candidates are +1 or −1, always the same sequence.
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Bars
from course_lib.explore.raster.base import Axes, Choice, Facts, Number, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed, significant
from course_lib.views.lines import add_marker, format_log_ticks

LOWEST, HIGHEST = -2.0, 4.0  # forget biases
LENGTHS = (10, 20, 30, 50, 100)
LONGEST = LENGTHS[-1]
CANDIDATES = np.random.default_rng(3).choice([-1.0, 1.0], LONGEST)
REACH = 2.2  # of the cell's axis; larger values leave the picture


def sigmoid(x: float) -> float:
    """The logistic function.

    >>> round(sigmoid(1.0), 4)
    0.7311
    """
    return float(1 / (1 + np.exp(-x)))


def half_life(forget_bias: float) -> float:
    """The number of steps until half is left, if only the bias sets the forget gate."""
    return float(np.log(2) / np.log1p(np.exp(-forget_bias)))  # −ln of a sigmoid is ln(1 + e⁻ˣ)


def cell_values(*, forget: float, write: float, steps: int) -> np.ndarray:
    """The cell at steps 0 to `steps`."""
    values = [1.0]
    for candidate in CANDIDATES[:steps]:
        values.append(forget * values[-1] + write * candidate)
    return np.array(values)


def compute(*, forget_bias: float, write: float, steps: int) -> Facts:
    forget = sigmoid(forget_bias)
    return {
        "forget": forget,
        "cell": cell_values(forget=forget, write=write, steps=steps),
        "decay": forget ** np.arange(steps + 1),
        "remaining": forget**steps,
        "half_life": half_life(forget_bias),
    }


def draw_cell(axes: Axes) -> Show:
    axes.set(xlabel="step (from 0 to the last)", ylabel="cell state", xlim=(-0.02, 1.02), xticks=())
    axes.set(ylim=(-REACH, REACH), yticks=(-2, -1, 0, 0.5, 1, 2))
    axes.axhline(0, color=theme.HAIRLINE, linewidth=1)
    axes.axhline(0.5, color=theme.HAIRLINE, linewidth=1, linestyle=(0, (2, 2)))
    [cell] = axes.plot([], [], color=theme.BLUE, linewidth=2.2)
    [decay] = axes.plot([], [], color=theme.ORANGE, linewidth=1.8, linestyle=(0, (3, 2)))
    dot = add_marker(axes)
    corner = {"coords": "axes", "ha": "right", "va": "top", "size": 9.5}
    remaining = add_text(axes, 0.98, 0.97, colour=theme.ORANGE, **corner)
    value = add_text(axes, 0.98, 0.89, colour=theme.BLUE, **corner)

    def show(facts: Facts) -> None:
        steps = facts["steps"]
        positions = np.linspace(0, 1, steps + 1)
        cell.set_data(positions, np.where(np.abs(facts["cell"]) <= REACH, facts["cell"], np.nan))
        decay.set_data(positions, facts["decay"])
        reached = facts["half_life"] <= steps
        dot.set(data=([facts["half_life"] / steps if reached else -1], [0.5]), markerfacecolor=theme.ORANGE)
        remaining.set_text(f"left of the initial 1 after {steps} steps: {significant(facts['remaining'], 2)}")
        value.set_text(f"cell state at the end: {fixed(facts['cell'][-1], 2)}")

    return show


def draw_gates(axes: Axes) -> Show:
    bars = Bars(axes, ("forget", "input"), size=10)
    axes.set(yticks=(0, 0.5, 1))
    axes.grid(axis="y")
    return lambda facts: bars.show(np.array([facts["forget"], facts["write"]]))


def draw_half_life(axes: Axes) -> Show:
    axes.set(yscale="log", xlabel="forget bias", ylabel="steps", ylim=(0.2, 60), yticks=(1, 3, 10, 30))
    axes.set(xticks=(-2, 0, 2, 4))
    format_log_ticks(axes.yaxis)
    axes.grid(axis="y")
    biases = np.linspace(LOWEST, HIGHEST, 61)
    axes.plot(biases, [half_life(bias) for bias in biases], color=theme.ORANGE, linewidth=2)
    dot = add_marker(axes)
    label = add_text(axes, 0.04, 0.95, coords="axes", va="top", size=11, weight="bold", colour=theme.ORANGE)

    def show(facts: Facts) -> None:
        dot.set(data=([facts["forget_bias"]], [facts["half_life"]]), markerfacecolor=theme.ORANGE)
        label.set_text(f"{fixed(facts['half_life'], 1)} steps")

    return show


class GateMixer(RasterExplorable):
    title = "Gate mixer"
    question = "A cell state starts at 1. What makes the cell remember it, and what makes it forget?"
    forget_bias = Number("forget bias", LOWEST, HIGHEST, 0.0, step=0.5)
    write = Number("input gate", 0.0, 1.0, 0.0, step=0.1)
    steps = Choice("steps", LENGTHS, 20)
    presets = {
        "bias 1": {"forget_bias": 1.0, "steps": 10},
        "noisy": {"forget_bias": 1.0, "write": 0.5},
    }
    goals = {
        "keep": "Keep more than half of the initial 1 for 20 steps",
        "carry": "Keep more than a tenth of it for 100 steps",
        "drown": "Keep half of it for 20 steps, yet end with a cell state below 0",
    }
    panels = (
        Panel("Cell state", draw_cell, 1.5),
        Panel("Gates", draw_gates, 0.6),
        Panel("Half-life", draw_half_life),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "keep": now["half_life"] > 20,
            "carry": now["steps"] == LONGEST and now["remaining"] > 0.1,
            "drown": now["half_life"] > 20 and now["cell"][-1] < 0,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        bias, gate = fixed(facts["forget_bias"], 1), fixed(facts["forget"], 2)
        return [f"forget bias {bias}, gate {gate}", f"input gate {fixed(facts['write'], 1)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"Forget bias {fixed(facts['forget_bias'], 1)}: the forget gate is {fixed(facts['forget'], 2)}, "
            f"and the half-life is {fixed(facts['half_life'], 1)} steps. With the input gate at "
            f"{fixed(facts['write'], 1)}, after {facts['steps']} steps "
            f"{significant(facts['remaining'], 2)} of the initial 1 is left, "
            f"and the cell state is {fixed(facts['cell'][-1], 2)}."
        )
