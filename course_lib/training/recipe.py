"""A recipe: every number of a training run that is not the system's own, and the usual recipes.

    >>> recipe = Recipe(n_steps=1000, learning_rate=2e-3)
    >>> recipe.rate(400)                                    # the top of the warm-up
    0.002
    >>> usual_recipe("transformer", scale="toy") == usual_recipe("seq2seq", scale="toy")
    True

Frozen, and plain numbers and words only: it goes into the checkpoint as it is, and the same recipe, seed,
system and corpus make the same weights again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from course_lib.formatting import counted
from course_lib.models.registry import system

Decay = Literal["inverse_square_root", "linear", "cosine"]
Precision = Literal["float32", "bfloat16"]


# ---- the learning rate


def learning_rate(step: int, *, peak: float, warm_up: int, decay: Decay, n_steps: int | None = None) -> float:
    """The learning rate of a step, the first being step 1: up during warm-up, then down.

        >>> [learning_rate(step, peak=1.0, warm_up=4, decay="inverse_square_root") for step in (1, 2, 4, 16)]
        [0.25, 0.5, 1.0, 0.5]
        >>> [learning_rate(step, peak=1.0, warm_up=4, decay="linear", n_steps=12) for step in (1, 4, 8, 12)]
        [0.25, 1.0, 0.5, 0.0]
        >>> [round(learning_rate(at, peak=1.0, warm_up=4, decay="cosine", n_steps=12), 2) for at in (6, 8)]
        [0.85, 0.5]

    At the start Adam has seen too few gradients to know their size, and the weights still say nothing: small
    steps first. `inverse_square_root` is the schedule of the 2017 paper, whose formula
    d_model^-0.5 · min(step^-0.5, step · warm_up^-1.5) has its peak at (d_model · warm_up)^-0.5. It never
    ends; `linear` reaches 0 at the last step, which wins when the number of steps is known. `cosine` reaches
    it too, along half a wave: slowly at both ends, as most large models since 2018 do.
    """
    if step < warm_up:
        return peak * step / warm_up
    if decay == "inverse_square_root":
        return peak * math.sqrt(max(warm_up, 1) / step)
    left = min(1.0, max(0.0, (n_steps - step) / max(n_steps - warm_up, 1)))  # from 1 down to 0
    return peak * {"linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2}[decay]


# ---- a recipe


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train.

    `tokens_per_batch`  of one side, padding included
    `r_drop`            weight of the divergence between two readings of a sentence (`objective.py`); 0: one
    `scheduled_sampling`  share of target words that training replaces by the system's own
    `clip`              the longest gradient that is allowed; longer ones are shortened to it
    `validate_every`    steps between two validations (and two saves)
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
    seed: int = 0
    validate_every: int = 500
    average_from: float = 1.0
    average_every: int = 20
    precision: Precision = "float32"
    fixed_shapes: bool = False

    def __post_init__(self) -> None:
        for name in ("n_steps", "tokens_per_batch", "learning_rate"):  # as the command line may have them
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"Expected {name} to be a number above 0, but got {value!r}.")
        for name, known in (("decay", get_args(Decay)), ("precision", get_args(Precision))):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"Expected {name} to be one of {', '.join(known)}, but got {value!r}.")
        if not 0 <= self.r_drop < math.inf:
            raise ValueError(f"Expected r_drop to be a number of 0 or more, but got {self.r_drop!r}.")

    @classmethod
    def from_json(cls, kept: dict) -> Recipe:
        """A recipe from a file: what it does not say is as usual, what is unknown is left out."""
        return cls(**{one.name: kept[one.name] for one in fields(cls) if one.name in kept})

    def rate(self, step: int) -> float:
        """The learning rate of a step, the first being step 1."""
        return learning_rate(
            step, peak=self.learning_rate, warm_up=self.warm_up, decay=self.decay, n_steps=self.n_steps
        )

    def averages(self, step: int) -> bool:
        """Whether the weights after this step join the average."""
        return step > self.average_from * self.n_steps and step % self.average_every == 0

    def in_steps(self, n_steps: int) -> Recipe:
        """The whole run in so many steps: as many validations, and a warm-up of a tenth of it at most."""
        n_validations = max(self.n_steps // self.validate_every, 1)
        return replace(
            self,
            n_steps=n_steps,
            warm_up=min(self.warm_up, max(n_steps // 10, 1)),
            validate_every=max(n_steps // n_validations, 1),
            average_every=min(self.average_every, max(n_steps // 100, 1)),
        )

    def __str__(self) -> str:
        """The numbers of a run that people ask for first.

        >>> print(Recipe(n_steps=4000, learning_rate=3e-3))
        4,000 steps of 4,096 tokens, learning rate 0.003 (warm-up of 400), label smoothing 0.1
        """
        said = f"{counted(self.n_steps, 'step')} of {self.tokens_per_batch:,} tokens, learning rate "
        said += f"{self.learning_rate:g} (warm-up of {self.warm_up:,}), label smoothing {self.smoothing:g}"
        return said + (f", R-Drop {self.r_drop:g}" if self.r_drop else "")


# ---- the usual ones

TOKENS_PER_BATCH = {"tiny": 1024, "toy": 1024, "multi30k": 4096}
IN_EPOCHS = {"multi30k": 20}  # scales whose runs are counted in epochs, and how many

# For a learner who waits before a CPU: a quarter of the tokens. The Transformer, with rotary positions and
# without dropout, in two wider layers in place of three, does nearly as well (`experiment quick`).
QUICK = {
    "n_steps": 2000,
    "tokens_per_batch": 512,
    "learning_rate": 5e-3,
    "warm_up": 200,
    "validate_every": 250,
}
QUICK_CONFIG = {"dropout": 0.0, "positions": "rotary"}  # as far as a system has them
QUICK_SIZES = {("transformer", "toy"): {"n_layers": 2, "d_model": 80, "n_heads": 5}}  # by system and scale


def usual_recipe(
    name: str, *, scale: str, n_batches: int | None = None, seed: int = 0, on_gpu: bool = False
) -> Recipe:
    """How this system is trained at this scale. `n_batches`: those of one epoch, for scale "multi30k".

    One recipe for all systems of a scale, so that a table compares systems and nothing else. Language models
    alone are trained without label smoothing: it would spoil their perplexity.
    """
    n_steps = IN_EPOCHS[scale] * n_batches if scale in IN_EPOCHS else 4000
    return Recipe(
        n_steps=n_steps,
        tokens_per_batch=TOKENS_PER_BATCH[scale],
        learning_rate=2e-3 if scale in IN_EPOCHS else 3e-3,
        warm_up=400,
        decay="linear",
        smoothing=0.0 if system(name).kind == "language model" else 0.1,
        validate_every=max(n_steps // 8, 1),
        average_from=0.8 if scale in IN_EPOCHS else 0.85,
        seed=seed,
        precision="bfloat16" if on_gpu else "float32",
        fixed_shapes=on_gpu,
    )
