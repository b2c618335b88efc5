"""Backpropagation through time: how much of the gradient at the last step reaches the first?

    >>> round(compute(factor=0.9, steps=50, activation="linear")["arrives"], 4)
    0.0052
    >>> round(compute(factor=1.1, steps=50, activation="linear")["arrives"])
    117

The state has eight numbers. Its matrix is an orthogonal one times `factor`: it scales the length of every
vector equally. The network runs forwards over seeded inputs; then the Jacobians of its steps are multiplied
from the last step back, each the matrix times the derivatives of the activation.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Rectangles
from course_lib.explore.raster.base import Axes, Choice, Facts, Integer, Number, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed, significant
from course_lib.views.lines import add_marker

HIDDEN, LONGEST, SEED = 8, 100, 1
ACTIVATIONS = ("linear", "tanh", "sigmoid")
COLOURS = {"linear": theme.BLUE, "tanh": theme.ORANGE, "sigmoid": theme.PINK}
LOW, HIGH = 1e-12, 1e9  # the limits of the axis; a curve beyond them is clipped
BINS = np.linspace(0, 1, 21)


def activate(name: str, total: np.ndarray) -> np.ndarray:
    return {"linear": total, "tanh": np.tanh(total), "sigmoid": 1 / (1 + np.exp(-total))}[name]


def derivative(name: str, state: np.ndarray) -> np.ndarray:
    """The derivative of an activation, from its output: at most 1, 1 and 1/4."""
    return {"linear": np.ones_like(state), "tanh": 1 - state**2, "sigmoid": state * (1 - state)}[name]


@cache
def matrix_and_inputs() -> tuple[np.ndarray, np.ndarray]:
    """An orthogonal matrix, and an input for every step."""
    generator = np.random.default_rng(SEED)
    orthogonal = np.linalg.qr(generator.standard_normal((HIDDEN, HIDDEN)))[0]
    return orthogonal, 0.5 * generator.standard_normal((LONGEST + 1, HIDDEN))


@lru_cache(maxsize=128)  # a state takes up to 7 KB, and there are 4,500
def jacobian_norms(factor: float, steps: int, activation: str) -> tuple[np.ndarray, np.ndarray]:
    """The norm of the product of Jacobians for each lag from 0 to `steps`, and all derivatives in it."""
    orthogonal, inputs = matrix_and_inputs()
    matrix, state, derivatives = factor * orthogonal, np.zeros(HIDDEN), []
    for x in inputs[: steps + 1]:
        # The derivatives of the linear network are 1 for any state: it need not run.
        state = state if activation == "linear" else activate(activation, matrix @ state + x)
        derivatives.append(derivative(activation, state))
    product, norms = np.eye(HIDDEN), [1.0]
    for step in range(steps, 0, -1):
        product = product @ (derivatives[step][:, None] * matrix)
        norms.append(float(np.linalg.norm(product, 2)))
    return np.array(norms), np.concatenate(derivatives[1:])


def compute(*, factor: float, steps: int, activation: str) -> Facts:
    """The norms by lag, those of the linear network, and what arrives at the first step."""
    factor = round(factor, 4)
    norms, derivatives = jacobian_norms(factor, steps, activation)
    return {
        "norms": norms,
        "linear": factor ** np.arange(steps + 1.0),
        "arrives": float(norms[-1]),
        "derivatives": np.histogram(derivatives, BINS)[0] / derivatives.size,
        "mean_derivative": float(derivatives.mean()),
    }


def draw_curve(axes: Axes) -> Show:
    axes.set(yscale="log", xlim=(-2, LONGEST + 2), ylim=(LOW / 5, HIGH * 5), xlabel="steps back")
    ticks = (1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3, 1e6, 1e9)
    names = ("≤ 10⁻¹²", "10⁻⁹", "10⁻⁶", "0.001", "1", "1000", "10⁶", "≥ 10⁹")
    axes.set_yticks(ticks, names)
    axes.minorticks_off()
    axes.grid(axis="y")
    axes.axhline(1, color=theme.SOFT_INK, linewidth=1)
    [linear] = axes.plot([], [], color=theme.BLUE, linewidth=1.4, linestyle=(0, (3, 2)))
    [curve] = axes.plot([], [], linewidth=2.6)
    dot = add_marker(axes)
    label = add_text(axes, 0.03, 0.95, coords="axes", va="top", size=11, weight="bold")

    def show(facts: Facts) -> None:
        lags, colour = np.arange(facts["steps"] + 1), COLOURS[facts["activation"]]
        norms = facts["norms"].clip(LOW, HIGH)
        linear.set_data(lags, facts["linear"].clip(LOW, HIGH))
        curve.set(data=(lags, norms), color=colour)
        dot.set(data=([lags[-1]], [norms[-1]]), markerfacecolor=colour)
        label.set(text=f"norm {significant(facts['arrives'], 3)}", color=colour)

    return show


def draw_derivatives(axes: Axes) -> Show:
    axes.set(xlim=(-0.04, 1.06), ylim=(0, 1.18), xlabel="derivative of the activation", yticks=())
    axes.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
    axes.spines["left"].set_visible(False)
    bars = Rectangles(axes, len(BINS) - 1)
    mean = add_text(axes, 0.02, 0.95, coords="axes", va="top", size=10.5, weight="bold")

    def show(facts: Facts) -> None:
        colour = COLOURS[facts["activation"]]
        heights = facts["derivatives"] / facts["derivatives"].max()
        bars.set_edges(left=BINS[:-1] + 0.004, right=BINS[1:] - 0.004, low=0, high=heights, colours=colour)
        mean.set(text=f"mean {fixed(facts['mean_derivative'], 2)}", color=colour)

    return show


class GradientTelephone(RasterExplorable):
    title = "Gradient through time"
    question = "A gradient of norm 1 starts at the last step. How much of it reaches the first?"
    factor = Number("matrix factor", 0.5, 1.2, 1.0, step=0.05)
    steps = Integer("steps back", 1, LONGEST, 20)
    activation = Choice("activation", ACTIVATIONS, "linear", buttons=True)
    presets = {
        "0.9, 50 steps": {"factor": 0.9, "steps": 50},
        "tanh": {"steps": 50, "activation": "tanh"},
        "sigmoid": {"steps": 50, "activation": "sigmoid"},
    }
    goals = {
        "steady": "100 steps back with a norm between ½ and 2",
        "explodes": "A norm above 1000 within 40 steps",
        "silent": "Sigmoid: a norm below one millionth within 8 steps",
    }
    panels = (
        Panel("Gradient norm (dashed: linear)", draw_curve, 1.5),
        Panel("Derivatives on the way", draw_derivatives, 0.9),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "steady": now["steps"] == LONGEST and 0.5 < now["arrives"] < 2,
            "explodes": now["arrives"] > 1000 and now["steps"] <= 40,
            "silent": now["activation"] == "sigmoid" and now["steps"] <= 8 and now["arrives"] < 1e-6,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        steps = f"{facts['steps']} step{'s' if facts['steps'] > 1 else ''}"
        return [f"matrix × {fixed(facts['factor'], 2)}", f"{steps} back", facts["activation"]]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"Each step back multiplies by a matrix scaled by {fixed(facts['factor'], 2)} and by the "
            f"derivatives of the activation ({facts['activation']}), "
            f"{fixed(facts['mean_derivative'], 2)} on average. "
            f"After {facts['steps']} steps a gradient of norm 1 has norm {significant(facts['arrives'], 3)}."
        )
