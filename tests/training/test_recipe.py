"""Learning rates, and the usual recipes number by number."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.models.registry import SYSTEMS
from course_lib.training.by_hand import paper_rate
from course_lib.training.recipe import Recipe, learning_rate, usual_recipe

# ---- the learning rate


@pytest.mark.parametrize(("d_model", "warm_up"), [(512, 4000), (64, 200), (256, 1)])
def test_inverse_square_root_is_the_papers_formula(d_model, warm_up):
    for step in (1, 2, 17, 199, 200, 201, 3999, 4000, 4001, 100_000):
        formula = d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)
        assert paper_rate(step, d_model, warm_up) == pytest.approx(formula, rel=1e-12)


@settings(deadline=None)
@given(
    n_steps=st.integers(2, 500),
    warm_up=st.integers(0, 600),
    decay=st.sampled_from(["linear", "cosine", "inverse_square_root"]),
)
def test_it_goes_up_then_down_and_ends_at_0_and_only_there(n_steps, warm_up, decay):
    recipe = Recipe(n_steps=n_steps, learning_rate=0.5, warm_up=warm_up, decay=decay)
    rates = [recipe.rate(step) for step in range(1, n_steps + 1)]
    top = rates.index(max(rates))
    assert all(0 < rate <= 0.5 for rate in rates[:-1])
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    if 1 < warm_up < n_steps:
        assert rates[warm_up - 1] == 0.5
    if decay != "inverse_square_root":
        assert rates[-1] == (0 if warm_up <= n_steps else 0.5 * n_steps / warm_up)


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_decay_is_torchs(decay):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    schedules = torch.optim.lr_scheduler
    if decay == "linear":
        theirs = schedules.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=20)
    else:
        theirs = schedules.CosineAnnealingLR(optimizer, T_max=20)
    for step in range(5, 26):  # the warm-up ends at step 5
        ours = learning_rate(step, peak=0.3, warm_up=5, decay=decay, n_steps=25)
        assert ours == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        theirs.step()


# ---- a recipe


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_steps", 0, "a number above 0"),
        ("tokens_per_batch", -1, "a number above 0"),
        ("learning_rate", float("nan"), "a number above 0"),
        ("learning_rate", float("inf"), "a number above 0"),
        ("r_drop", -1.0, "a number of 0 or more"),
        ("decay", "consine", "one of inverse_square_root, linear, cosine"),
        ("precision", "float16", "one of float32, bfloat16"),
    ],
)
def test_what_cannot_be_meant_is_refused(name, value, expected):
    with pytest.raises(ValueError) as caught:
        Recipe(**{"n_steps": 10, name: value})
    assert str(caught.value) == f"Expected {name} to be {expected}, but got {value!r}."


def test_which_weights_join_the_average():
    recipe = Recipe(n_steps=20, average_from=0.5, average_every=3)
    assert [step for step in range(1, 21) if recipe.averages(step)] == [12, 15, 18]
    assert not any(Recipe(n_steps=20, average_every=1).averages(step) for step in range(1, 21))
    always = Recipe(n_steps=5, average_from=0.0, average_every=1)
    assert all(always.averages(step) for step in range(1, 6))


def test_it_comes_back_from_a_file_also_of_an_earlier_version():
    recipe = Recipe(n_steps=10, learning_rate=1 / 3)
    kept = json.loads(json.dumps(asdict(recipe))) | {"patience": 0, "weight_decay": 0.0}
    del kept["r_drop"]
    assert Recipe.from_json(kept) == recipe


TOY = {"tokens_per_batch": 1024, "average_from": 0.85, "n_steps": 4000, "learning_rate": 3e-3, "warm_up": 400}
REAL = {"tokens_per_batch": 4096, "average_from": 0.8, "n_steps": 2000, "learning_rate": 2e-3, "warm_up": 400}


@pytest.mark.parametrize(("scale", "numbers"), [("tiny", TOY), ("toy", TOY), ("multi30k", REAL)])
def test_the_usual_recipe_number_by_number(scale, numbers):
    """Whoever changes one has to train and measure again. On Multi30k: 20 epochs of 100 batches here."""
    for system in SYSTEMS:
        smoothing = 0.0 if system.kind == "language model" else 0.1
        every = numbers["n_steps"] // 8
        usual = Recipe(decay="linear", validate_every=every, seed=7, smoothing=smoothing, **numbers)
        assert usual_recipe(system.name, scale=scale, n_batches=100, seed=7) == usual
        on_gpu = usual_recipe(system.name, scale=scale, n_batches=100, seed=7, on_gpu=True)
        assert on_gpu == replace(usual, precision="bfloat16", fixed_shapes=True)
