"""A recipe: the hyperparameters of a training run (those of the system are in its configuration).

    >>> recipe = Recipe(n_steps=1000, learning_rate=2e-3)
    >>> recipe.rate(400)                                    # the end of the warm-up
    0.002
    >>> usual_recipe("transformer", scale="toy") == usual_recipe("seq2seq", scale="toy")
    True

A recipe is frozen and holds only numbers and strings, so it can be saved in the checkpoint. The same recipe,
seed, system and corpus give the same weights.
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
    """The learning rate of a step, counted from 1: it rises during the warm-up and then decays.

        >>> [learning_rate(step, peak=1.0, warm_up=4, decay="inverse_square_root") for step in (1, 2, 4, 16)]
        [0.25, 0.5, 1.0, 0.5]
        >>> [learning_rate(step, peak=1.0, warm_up=4, decay="linear", n_steps=12) for step in (1, 4, 8, 12)]
        [0.25, 1.0, 0.5, 0.0]
        >>> [round(learning_rate(i, peak=1.0, warm_up=4, decay="cosine", n_steps=12), 2) for i in (6, 8)]
        [0.85, 0.5]

    The first steps are small because Adam has seen too few gradients to estimate their size, and the weights
    are still random. `inverse_square_root` is the schedule of the 2017 paper, whose formula
    d_model^-0.5 · min(step^-0.5, step · warm_up^-1.5) has its peak at (d_model · warm_up)^-0.5. It has no
    last step. `linear` reaches 0 at the last step, which works better when the number of steps is known.
    `cosine` does too, along half a cosine wave, as for most large models since 2018.
    """
    if step < warm_up:
        return peak * step / warm_up
    if decay == "inverse_square_root":
        return peak * math.sqrt(max(warm_up, 1) / step)
    remaining = min(1.0, max(0.0, (n_steps - step) / max(n_steps - warm_up, 1)))  # from 1 down to 0
    return peak * {"linear": remaining, "cosine": (1 - math.cos(math.pi * remaining)) / 2}[decay]


# ---- a recipe


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The hyperparameters of a run.

    `tokens_per_batch`  on one side, including padding
    `r_drop`            weight of the divergence between two passes with dropout (`objective.py`); 0: one pass
    `scheduled_sampling`  probability that a target input is replaced by the system's own prediction
    `clip`              maximum norm of the gradient
    `validate_every`    steps between two validations (and two saves)
    `patience`          validations without a lower loss after which the run ends early; 0: never
    `average_from`      fraction of the run after which weights are averaged; 1: never
    `average_every`     steps between two sets of weights in the average
    `fixed_shapes`      use only a few batch shapes, as the CUDA graph needs (`graph_step.py`)
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
    patience: int = 0
    average_from: float = 1.0
    average_every: int = 20
    precision: Precision = "float32"
    fixed_shapes: bool = False

    def __post_init__(self) -> None:
        for name in ("n_steps", "tokens_per_batch", "learning_rate"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"Expected {name} to be a number above 0, but got {value!r}.")
        for name, options in (("decay", get_args(Decay)), ("precision", get_args(Precision))):
            if (value := getattr(self, name)) not in options:
                raise ValueError(f"Expected {name} to be one of {', '.join(options)}, but got {value!r}.")
        if not 0 <= self.r_drop < math.inf:
            raise ValueError(f"Expected r_drop to be a number of 0 or more, but got {self.r_drop!r}.")

    @classmethod
    def from_json(cls, saved: dict) -> Recipe:
        """A saved recipe: missing fields get their defaults, unknown ones are ignored."""
        return cls(**{field.name: saved[field.name] for field in fields(cls) if field.name in saved})

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        return learning_rate(
            step, peak=self.learning_rate, warm_up=self.warm_up, decay=self.decay, n_steps=self.n_steps
        )

    def averages(self, step: int) -> bool:
        """Whether the weights after this step are part of the average."""
        return step > self.average_from * self.n_steps and step % self.average_every == 0

    def in_steps(self, n_steps: int) -> Recipe:
        """The recipe scaled to `n_steps`: as many validations, and a warm-up of at most a tenth."""
        n_validations = max(self.n_steps // self.validate_every, 1)
        return replace(
            self,
            n_steps=n_steps,
            warm_up=min(self.warm_up, max(n_steps // 10, 1)),
            validate_every=max(n_steps // n_validations, 1),
            average_every=min(self.average_every, max(n_steps // 100, 1)),
        )

    def __str__(self) -> str:
        """The main hyperparameters in one line.

        >>> print(Recipe(n_steps=4000, learning_rate=3e-3))
        4,000 steps, 4,096 tokens per batch, learning rate 0.003 (400 warm-up steps), label smoothing 0.1
        """
        text = f"{counted(self.n_steps, 'step')}, {self.tokens_per_batch:,} tokens per batch, "
        text += f"learning rate {self.learning_rate:g} ({counted(self.warm_up, 'warm-up step')}), "
        text += f"label smoothing {self.smoothing:g}"
        text += f", R-Drop {self.r_drop:g}" if self.r_drop else ""
        return text + (f", at most {self.patience} validations without a lower loss" if self.patience else "")


# ---- the usual recipes

TOKENS_PER_BATCH = {"tiny": 1024, "toy": 1024, "multi30k": 4096}
IN_EPOCHS = {"multi30k": 20}  # epochs of the scales whose runs are measured in epochs

# A run on a CPU with a quarter of the tokens. A Transformer with rotary position embeddings, no dropout and
# two wider layers instead of three; `experiment quick` compares it with longer runs.
QUICK = {
    "n_steps": 2000,
    "tokens_per_batch": 512,
    "learning_rate": 5e-3,
    "warm_up": 200,
    "validate_every": 250,
}
QUICK_CONFIG = {"dropout": 0.0, "positions": "rotary"}  # only the fields that a system has
QUICK_SIZES = {("transformer", "toy"): {"n_layers": 2, "d_model": 80, "n_heads": 5}}  # by system and scale


def usual_recipe(
    name: str, *, scale: str, n_batches: int | None = None, seed: int = 0, on_gpu: bool = False
) -> Recipe:
    """The recipe of a system at a scale. `n_batches` is the number per epoch, needed for scale "multi30k".

    All systems of a scale share a recipe, so that a table compares only systems. The exception is that
    language models are trained without label smoothing, which would worsen their perplexity.
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
