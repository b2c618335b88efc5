"""A recipe: every number of a training run that is not the system's own.

    >>> recipe = Recipe(n_steps=1000, learning_rate=2e-3)
    >>> recipe.rate(400)                                    # the top of the warm-up
    0.002

Frozen, and plain numbers and words only: it goes into the checkpoint as it is, and the same recipe, seed,
system and corpus make the same weights again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from course_lib.training.schedule import Decay, learning_rate

Precision = Literal["float32", "bfloat16"]
LEAST = {
    "n_steps": 1,
    "tokens_per_batch": 1,
    "validate_every": 1,
    "average_every": 1,
    "warm_up": 0,
    "patience": 0,
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train.

    `tokens_per_batch`  of one side, padding included
    `r_drop`            weight of the divergence between two readings of a sentence (`objective.py`); 0: one
    `scheduled_sampling`  share of target words that training replaces by the system's own
    `clip`              the longest gradient that is allowed; longer ones are shortened to it
    `validate_every`    steps between two validations (and two saves)
    `patience`          so many validations without a better loss end the run; 0: never
    `average_from`      share of the run after which weights are averaged into one model; 1: never
    `average_every`     steps between two sets of weights that join the average
    `fixed_shapes`      batches of a few shapes only, which the fast GPU path needs
    """

    n_steps: int
    tokens_per_batch: int = 4096
    learning_rate: float = 1e-3
    warm_up: int = 400
    decay: Decay = "inverse_square_root"
    smoothing: float = 0.1
    r_drop: float = 0.0
    scheduled_sampling: float = 0.0
    clip: float = 1.0
    weight_decay: float = 0.0
    seed: int = 0
    validate_every: int = 500
    patience: int = 0
    average_from: float = 1.0
    average_every: int = 20
    precision: Precision = "float32"
    fixed_shapes: bool = False

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            _expect(name, value, f"a whole number of {least} or more", type(value) is int and value >= least)
        _expect("seed", self.seed, "a whole number", type(self.seed) is int)
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            _expect(name, value, "a number above 0", 0 < value < math.inf)
        for name in ("weight_decay", "r_drop"):
            value = getattr(self, name)
            _expect(name, value, "a number of 0 or more", 0 <= value < math.inf)
        for name in ("smoothing", "scheduled_sampling"):
            value = getattr(self, name)
            _expect(name, value, "at least 0 and below 1", 0 <= value < 1)
        _expect("average_from", self.average_from, "a share from 0 to 1", 0 <= self.average_from <= 1)
        for name, kind in (("decay", Decay), ("precision", Precision)):
            _expect(
                name, getattr(self, name), f"one of {get_args(kind)}", getattr(self, name) in get_args(kind)
            )

    def rate(self, step: int) -> float:
        """The learning rate of a step, the first being step 1."""
        return learning_rate(
            step, peak=self.learning_rate, warm_up=self.warm_up, decay=self.decay, n_steps=self.n_steps
        )

    def averages(self, step: int) -> bool:
        """Whether the weights after this step join the average."""
        return step > self.average_from * self.n_steps and step % self.average_every == 0


def _expect(name: str, value: object, expected: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"Expected {name} to be {expected}, but got {value!r}.")
