"""How large a step the optimiser takes: up during warm-up, then down.

    >>> [learning_rate(step, peak=1.0, warm_up=4, decay="inverse_square_root") for step in (1, 2, 4, 16)]
    [0.25, 0.5, 1.0, 0.5]
    >>> [learning_rate(step, peak=1.0, warm_up=4, decay="linear", n_steps=12) for step in (1, 4, 8, 12)]
    [0.25, 1.0, 0.5, 0.0]
    >>> [round(learning_rate(step, peak=1.0, warm_up=4, decay="cosine", n_steps=12), 2) for step in (6, 8)]
    [0.85, 0.5]

At the start Adam has seen too few gradients to know their size, and the weights still say nothing: small
steps first. `inverse_square_root` is the schedule of the 2017 paper, whose formula
d_model^-0.5 · min(step^-0.5, step · warm_up^-1.5) has its peak at (d_model · warm_up)^-0.5. It never ends;
`linear` reaches 0 at the last step, which wins when the number of steps is known. `cosine` reaches it
too, along half a wave: slowly at both ends, as most large models since 2018 do.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

Decay = Literal["inverse_square_root", "linear", "cosine"]


def learning_rate(step: int, *, peak: float, warm_up: int, decay: Decay, n_steps: int | None = None) -> float:
    """The learning rate of a step; the first step is step 1."""
    if step < 1:
        raise ValueError(f"Expected a step of 1 or more, for the first step is step 1, but got {step}.")
    if decay not in get_args(Decay):
        raise ValueError(f"Expected decay to be one of {', '.join(get_args(Decay))}, but got {decay!r}.")
    if step < warm_up:
        return peak * step / warm_up
    if decay == "inverse_square_root":
        return peak * math.sqrt(max(warm_up, 1) / step)
    if n_steps is None:
        raise ValueError(f"Expected n_steps for {decay} decay: it has to know where to end.")
    left = min(1.0, max(0.0, (n_steps - step) / max(n_steps - warm_up, 1)))  # from 1 down to 0
    return peak * (left if decay == "linear" else (1 - math.cos(math.pi * left)) / 2)


def paper_peak(*, d_model: int, warm_up: int) -> float:
    """The highest learning rate in the paper's formula.

    >>> round(paper_peak(d_model=512, warm_up=4000), 6)     # the base model
    0.000699
    """
    return (d_model * warm_up) ** -0.5
