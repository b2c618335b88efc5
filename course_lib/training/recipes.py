"""The recipes that work: for each system and scale, the numbers the shipped checkpoints were made with.

    >>> usual_recipe("transformer", scale="toy").n_steps
    2000

Found by trying, on the validation sets. On the toy language a Transformer bears large steps and learns from
many small batches; recurrent systems get twice as many. On Multi30k, where a GPU's step costs little
more for a larger batch, it takes large ones. There a run is counted in passes over the corpus, so the number
of batches has to be known.
"""

from __future__ import annotations

from course_lib.training.recipe import Recipe

TOY_STEPS = {"transformer": 2000, "transformer_lm": 2000}
TOY_RATE = {"transformer": 5e-3, "transformer_lm": 5e-3}
PASSES = {"transformer": 30, "transformer_lm": 30}
PASSES_RATE = {"transformer": 2.5e-3}
TOKENS_PER_BATCH = {"tiny": 1024, "toy": 1024, "multi30k": 4096}
LARGE_BATCHES = {("transformer", "multi30k"): 6144}
IN_PASSES = ("multi30k",)  # scales whose runs are counted in passes over the corpus


def usual_tokens_per_batch(name: str, *, scale: str) -> int:
    """Places of one side of a batch.

    >>> usual_tokens_per_batch("bahdanau", scale="multi30k")
    4096
    """
    return LARGE_BATCHES.get((name, scale), TOKENS_PER_BATCH[scale])


def usual_recipe(
    name: str, *, scale: str, n_batches: int | None = None, seed: int = 0, on_gpu: bool = False
) -> Recipe:
    """How this system is trained at this scale. `n_batches`: those of one pass, for scale "multi30k"."""
    speed = {"precision": "bfloat16" if on_gpu else "float32", "fixed_shapes": on_gpu}
    if scale in IN_PASSES:
        if n_batches is None:
            raise ValueError("Expected n_batches, the batches of one pass over the corpus.")
        n_steps = PASSES.get(name, 20) * n_batches
        return Recipe(
            n_steps=n_steps,
            tokens_per_batch=usual_tokens_per_batch(name, scale=scale),
            learning_rate=PASSES_RATE.get(name, 2e-3),
            warm_up=400,
            decay="linear",
            validate_every=max(n_steps // 8, 1),
            average_from=0.8,
            seed=seed,
            **speed,
        )
    n_steps = TOY_STEPS.get(name, 4000)
    return Recipe(
        n_steps=n_steps,
        tokens_per_batch=usual_tokens_per_batch(name, scale=scale),
        learning_rate=TOY_RATE.get(name, 3e-3),
        warm_up=n_steps // 10,
        decay="linear",
        validate_every=n_steps // 8,
        average_from=0.85,
        seed=seed,
        **speed,
    )
