"""The usual recipes: how every system is trained unless somebody says otherwise.

    >>> usual_recipe("transformer", scale="toy") == usual_recipe("seq2seq", scale="toy")
    True

One recipe for all systems of a scale, so that a table compares systems and nothing else. Language models
alone are trained without label smoothing: it would spoil their perplexity. On Multi30k a run is counted in
epochs, passes over the corpus, so the number of batches has to be known.

`QUICK` is for a learner who waits before a CPU: a quarter of the tokens. For the Transformer, with rotary
positions and without dropout (`QUICK_CONFIG`), in two wider layers in place of three (`QUICK_SIZES`), it does
nearly as well (`experiment quick`).
"""

from __future__ import annotations

from course_lib.models.registry import system
from course_lib.training.recipe import Recipe

TOKENS_PER_BATCH = {"tiny": 1024, "toy": 1024, "multi30k": 4096}
IN_EPOCHS = {"multi30k": 20}  # scales whose runs are counted in epochs, and how many
TOY_STEPS, TOY_RATE = 4000, 3e-3
EPOCHS_RATE = 2e-3
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
    """How this system is trained at this scale. `n_batches`: those of one epoch, for scale "multi30k"."""
    speed = {"precision": "bfloat16" if on_gpu else "float32", "fixed_shapes": on_gpu}
    smoothing = 0.0 if system(name).kind == "language model" else 0.1
    if scale in IN_EPOCHS:
        if n_batches is None:
            raise ValueError("Expected n_batches, the batches of one epoch.")
        n_steps = IN_EPOCHS[scale] * n_batches
        return Recipe(
            n_steps=n_steps,
            tokens_per_batch=TOKENS_PER_BATCH[scale],
            learning_rate=EPOCHS_RATE,
            warm_up=400,
            decay="linear",
            smoothing=smoothing,
            validate_every=max(n_steps // 8, 1),
            average_from=0.8,
            seed=seed,
            **speed,
        )
    return Recipe(
        n_steps=TOY_STEPS,
        tokens_per_batch=TOKENS_PER_BATCH[scale],
        learning_rate=TOY_RATE,
        warm_up=TOY_STEPS // 10,
        decay="linear",
        smoothing=smoothing,
        validate_every=TOY_STEPS // 8,
        average_from=0.85,
        seed=seed,
        **speed,
    )
