"""The recipes that work, number by number: whoever changes one has to train and measure again."""

from __future__ import annotations

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.training.recipe import Recipe
from course_lib.training.recipes import usual_recipe

TOY = {"tokens_per_batch": 1024, "average_from": 0.85, "n_steps": 4000, "learning_rate": 3e-3, "warm_up": 400}
REAL = {"tokens_per_batch": 4096, "average_from": 0.8, "n_steps": 2000, "learning_rate": 2e-3, "warm_up": 400}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@pytest.mark.parametrize(("scale", "numbers"), [("tiny", TOY), ("toy", TOY), ("multi30k", REAL)])
def test_one_recipe_for_all(system, scale, numbers):
    """On Multi30k, steps are of 100 batches an epoch: 20 epochs. Language models are not smoothed."""
    smoothing = 0.0 if system.kind == "language model" else 0.1
    every = numbers["n_steps"] // 8
    recipe = usual_recipe(system.name, scale=scale, n_batches=100, seed=7)
    assert recipe == Recipe(decay="linear", validate_every=every, seed=7, smoothing=smoothing, **numbers)


@pytest.mark.parametrize("scale", ["toy", "multi30k"])
def test_a_gpu_gets_bfloat16_and_fixed_shapes(scale):
    recipe = usual_recipe("transformer", scale=scale, n_batches=100, on_gpu=True)
    assert (recipe.precision, recipe.fixed_shapes) == ("bfloat16", True)


def test_passes_have_to_be_counted():
    with pytest.raises(ValueError, match="Expected n_batches"):
        usual_recipe("transformer", scale="multi30k")
