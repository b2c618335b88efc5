"""Learning rates, recipes, and the numbers of the usual recipes."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.models.registry import SYSTEMS
from course_lib.training.recipe import Recipe, learning_rate, usual_recipe

# ---- the learning rate


@settings(deadline=None)
@given(
    n_steps=st.integers(2, 500),
    warm_up=st.integers(0, 600),
    decay=st.sampled_from(["linear", "cosine", "inverse_square_root"]),
)
def test_the_rate_rises_then_falls_and_is_0_only_at_the_end(n_steps, warm_up, decay):
    recipe = Recipe(n_steps=n_steps, learning_rate=0.5, warm_up=warm_up, decay=decay)
    rates = [recipe.rate(step) for step in range(1, n_steps + 1)]
    peak = rates.index(max(rates))
    assert all(0 < rate <= 0.5 for rate in rates[:-1])
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    if 1 < warm_up < n_steps:
        assert rates[warm_up - 1] == 0.5
    if decay != "inverse_square_root":
        assert rates[-1] == (0 if warm_up <= n_steps else 0.5 * n_steps / warm_up)


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_decay_equals_torchs_schedulers(decay):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    schedules = torch.optim.lr_scheduler
    if decay == "linear":
        scheduler = schedules.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=20)
    else:
        scheduler = schedules.CosineAnnealingLR(optimizer, T_max=20)
    for step in range(5, 26):  # the warm-up ends at step 5
        rate = learning_rate(step, peak=0.3, warm_up=5, decay=decay, n_steps=25)
        assert rate == pytest.approx(scheduler.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        scheduler.step()


# ---- a recipe


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_steps", 0, "above 0"),
        ("tokens_per_batch", -1, "above 0"),
        ("learning_rate", float("nan"), "above 0"),
        ("learning_rate", float("inf"), "above 0"),
        ("r_drop", -1.0, "0 or more"),
        ("decay", "consine", "inverse_square_root, linear, cosine"),
        ("precision", "float16", "float32, bfloat16"),
    ],
)
def test_invalid_values_are_rejected(name, value, expected):
    with pytest.raises(ValueError, match=re.escape(name)) as caught:
        Recipe(**{"n_steps": 10, name: value})
    assert expected in str(caught.value) and f"got {value!r}" in str(caught.value)


def test_which_steps_are_averaged():
    recipe = Recipe(n_steps=20, average_from=0.5, average_every=3)
    assert [step for step in range(1, 21) if recipe.averages(step)] == [12, 15, 18]
    assert not any(Recipe(n_steps=20, average_every=1).averages(step) for step in range(1, 21))
    always = Recipe(n_steps=5, average_from=0.0, average_every=1)
    assert all(always.averages(step) for step in range(1, 6))


def test_a_recipe_is_loaded_also_from_an_earlier_version():
    recipe = Recipe(n_steps=10, learning_rate=1 / 3)
    saved = json.loads(json.dumps(asdict(recipe))) | {"patience": 0, "weight_decay": 0.0}
    del saved["r_drop"]
    assert Recipe.from_json(saved) == recipe


TOY = {"tokens_per_batch": 1024, "average_from": 0.85, "n_steps": 4000, "learning_rate": 3e-3, "warm_up": 400}
REAL = {"tokens_per_batch": 4096, "average_from": 0.8, "n_steps": 2000, "learning_rate": 2e-3, "warm_up": 400}


@pytest.mark.parametrize(("scale", "numbers"), [("tiny", TOY), ("toy", TOY), ("multi30k", REAL)])
def test_the_numbers_of_the_usual_recipes(scale, numbers):
    """A change here means training and evaluating again. On Multi30k: 20 epochs of 100 batches."""
    for system in SYSTEMS:
        smoothing = 0.0 if system.kind == "language model" else 0.1
        every = numbers["n_steps"] // 8
        usual = Recipe(decay="linear", validate_every=every, seed=7, smoothing=smoothing, **numbers)
        assert usual_recipe(system.name, scale=scale, n_batches=100, seed=7) == usual
        on_gpu = usual_recipe(system.name, scale=scale, n_batches=100, seed=7, on_gpu=True)
        assert on_gpu == replace(usual, precision="bfloat16", fixed_shapes=True)
