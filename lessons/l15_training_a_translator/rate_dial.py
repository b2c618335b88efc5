"""The learning rate of the 2017 paper, up during warm-up and then down.

>>> facts = compute(warm_up=4000, d_model=512, step=100_000)
>>> f"{facts['peak']:.3e}", f"{facts['rate']:.3e}"
('6.988e-04', '1.398e-04')
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show
from course_lib.formatting import significant
from course_lib.views.lines import add_marker
from course_lib.views.pillow_text import add_text
from lessons.l15_training_a_translator.by_hand import paper_rate

WARM_UPS = (2000, 4000, 8000, 16_000, 32_000)
WIDTHS = (128, 256, 512, 1024)
STEPS = (1, 10, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000)
LINEAR_STEPS = np.linspace(1, 100_000, 400)
LOG_STEPS = np.geomspace(1, 100_000, 60)


def rates(steps: np.ndarray, *, warm_up: int, d_model: int) -> np.ndarray:
    """The paper's formula, for many steps at once."""
    return d_model**-0.5 * np.minimum(steps**-0.5, steps * warm_up**-1.5)


def compute(*, warm_up: int, d_model: int, step: int) -> Facts:
    """Everything that the panels show at one setting."""
    sizes = {"d_model": d_model, "warm_up": warm_up}
    return {
        "rate": paper_rate(step, **sizes),
        "peak": paper_rate(warm_up, **sizes),
        "linear": rates(np.append(LINEAR_STEPS, warm_up), **sizes),
        "logarithmic": rates(np.append(LOG_STEPS, warm_up), **sizes),
    }


def draw_linear(axes: Axes) -> Show:
    axes.set(xlabel="step", ylabel="learning rate, thousandths", xlim=(-2500, 102_500), ylim=(-0.08, 2.15))
    axes.set_xticks((0, 25_000, 50_000, 75_000, 100_000), ("0", "25,000", "50,000", "75,000", "100,000"))
    show = curve_and_dot(axes, LINEAR_STEPS, "linear", scale=1000)
    peak = add_text(axes, 0.97, 0.93, coords="axes", ha="right", va="top", size=11, weight="bold")

    def show_all(facts: Facts) -> None:
        show(facts)
        phases = {-1: "rising", 0: "at the peak", 1: "falling"}
        phase = phases[int(np.sign(facts["step"] - facts["warm_up"]))]
        peak.set_text(f"peak {significant(facts['peak'], 3)}; now {phase}")

    return show_all


def draw_logarithmic(axes: Axes) -> Show:
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel="learning rate")
    axes.set(xlim=(0.7, 150_000), ylim=(2e-9, 2e-2), yticks=(1e-8, 1e-6, 1e-4, 1e-2))
    axes.set_xticks((1, 100, 10_000), ("1", "100", "10,000"))
    axes.minorticks_off()
    return curve_and_dot(axes, LOG_STEPS, "logarithmic")


def curve_and_dot(axes: Axes, steps: np.ndarray, which: str, *, scale: float = 1.0) -> Show:
    """The rate over these steps and the peak's own, and a dot at the chosen one."""
    axes.grid(axis="y")
    [curve] = axes.plot([1], [1], color=theme.BLUE, linewidth=2)
    dot = add_marker(axes)

    def show(facts: Facts) -> None:
        x = np.append(steps, facts["warm_up"])
        order = np.argsort(x, kind="stable")
        curve.set_data(x[order], facts[which][order] * scale)
        dot.set(data=([facts["step"]], [facts["rate"] * scale]), markerfacecolor=theme.ORANGE)

    return show


class RateDial(Explorable):
    title = "Learning-rate warm-up"
    question = "How large is the learning rate at each step?"
    size = (9.6, 3.6)
    warm_up = Choice("warm-up steps", WARM_UPS, 4000, text="{:,}".format)
    d_model = Choice("d_model", WIDTHS, 512)
    step = Choice("step", STEPS, 1, text="{:,}".format)
    presets = {
        "the paper's": {"step": 4000},
        "late in the run": {"step": 100_000},
        "twice the warm-up": {"warm_up": 8000, "step": 8000},
    }
    goals = {
        "halved": "Halve the initial peak by changing the warm-up alone",
        "eighth": "During warm-up: a step with an eighth of the peak rate",
        "same-peak": "d_model = 128 with the initial peak",
    }
    panels = (
        Panel("100,000 steps", draw_linear, 1.15),
        Panel("The same on logarithmic axes", draw_logarithmic),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        peaks, up = now["peak"] / start["peak"], now["step"] < now["warm_up"]
        return {
            "halved": now["d_model"] == start["d_model"] and abs(peaks - 0.5) < 0.01,
            "eighth": up and abs(now["rate"] / now["peak"] - 0.125) < 0.01,
            "same-peak": now["d_model"] == WIDTHS[0] and abs(peaks - 1) < 0.01,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        now = f"step {facts['step']:,}: {significant(facts['rate'], 3)}"
        return [f"warm-up {facts['warm_up']:,}", f"d_model {facts['d_model']}", now]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"With {facts['warm_up']:,} warm-up steps and d_model = {facts['d_model']}, the learning rate "
            f"rises linearly to {significant(facts['peak'], 3)}, then falls in proportion to 1/√step. "
            f"At step {facts['step']:,} it is {significant(facts['rate'], 3)}."
        )
