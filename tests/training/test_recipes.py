"""The recipes that work, number by number: whoever changes one has to train and measure again."""

from __future__ import annotations

import json

import pytest

from course_lib.models.road import SYSTEMS
from course_lib.runtime import PROJECT_ROOT
from course_lib.training.recipe import Recipe
from course_lib.training.recipes import usual_recipe
from course_lib.training.run_folder import UNSAID

TOY = {"tokens_per_batch": 1024, "average_from": 0.85}
REAL = {"warm_up": 400, "average_from": 0.8}


@pytest.mark.parametrize(
    ("name", "scale", "numbers"),
    [
        ("transformer", "toy", TOY | {"n_steps": 2000, "learning_rate": 5e-3, "warm_up": 200}),
        ("transformer_lm", "toy", TOY | {"n_steps": 2000, "learning_rate": 5e-3, "warm_up": 200}),
        ("bahdanau", "toy", TOY | {"n_steps": 4000, "learning_rate": 3e-3, "warm_up": 400}),
        ("gru_lm", "tiny", TOY | {"n_steps": 4000, "learning_rate": 3e-3, "warm_up": 400}),
        (
            "transformer",
            "multi30k",
            REAL | {"n_steps": 3000, "learning_rate": 2.5e-3, "tokens_per_batch": 6144},
        ),
        (
            "transformer_lm",
            "multi30k",
            REAL | {"n_steps": 3000, "learning_rate": 2e-3, "tokens_per_batch": 4096},
        ),
        ("bahdanau", "multi30k", REAL | {"n_steps": 2000, "learning_rate": 2e-3, "tokens_per_batch": 4096}),
    ],
)
def test_the_numbers_by_name_and_scale(name, scale, numbers):
    """On Multi30k they are of 100 batches a pass: 30 passes, or 20."""
    looks = numbers["n_steps"] // 8
    recipe = usual_recipe(name, scale=scale, n_batches=100, seed=7)
    assert recipe == Recipe(decay="linear", validate_every=looks, seed=7, **numbers)


@pytest.mark.parametrize("scale", ["toy", "multi30k"])
def test_a_gpu_gets_bfloat16_and_fixed_shapes(scale):
    recipe = usual_recipe("transformer", scale=scale, n_batches=100, on_gpu=True)
    assert (recipe.precision, recipe.fixed_shapes) == ("bfloat16", True)


def test_passes_have_to_be_counted():
    with pytest.raises(ValueError, match="Expected n_batches"):
        usual_recipe("transformer", scale="multi30k")


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS])
def test_the_shipped_checkpoints_were_made_by_them(name):
    kept = json.loads((PROJECT_ROOT / "data" / "results" / "toy" / f"{name}.json").read_text("utf-8"))
    made_by = Recipe(**(UNSAID | kept["training"]["recipe"]))
    on_gpu = made_by.precision == "bfloat16"
    assert made_by == usual_recipe(name, scale="toy", seed=made_by.seed, on_gpu=on_gpu)
