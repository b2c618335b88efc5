"""Learning rates, recipes, and the recipe of a job: a short run is a whole one made smaller."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.models.registry import SYSTEMS
from course_lib.text.encoded import encode_ids
from course_lib.training.by_kind import config_for
from course_lib.training.job import Job, make_recipe, run_job
from course_lib.training.objective import CLASSES
from course_lib.training.recipe import Recipe, learning_rate, paper_peak, usual_recipe

# ---- the learning rate


@pytest.mark.parametrize(("d_model", "warm_up"), [(512, 4000), (64, 200), (256, 1)])
def test_inverse_square_root_is_the_papers_formula(d_model, warm_up):
    peak = paper_peak(d_model=d_model, warm_up=warm_up)
    for step in (1, 2, 17, 199, 200, 201, 3999, 4000, 4001, 100_000):
        formula = d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)
        ours = learning_rate(step, peak=peak, warm_up=warm_up, decay="inverse_square_root")
        assert ours == pytest.approx(formula, rel=1e-12)


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
        ("n_steps", 0, "a whole number of 1 or more"),
        ("n_steps", 1.5, "a whole number of 1 or more"),
        ("tokens_per_batch", 0, "a whole number of 1 or more"),
        ("validate_every", -1, "a whole number of 1 or more"),
        ("average_every", 0, "a whole number of 1 or more"),
        ("warm_up", -1, "a whole number of 0 or more"),
        ("patience", True, "a whole number of 0 or more"),
        ("seed", 0.5, "a whole number"),
        ("learning_rate", 0.0, "a number above 0"),
        ("learning_rate", float("nan"), "a number above 0"),
        ("learning_rate", float("inf"), "a number above 0"),
        ("clip", 0, "a number above 0"),
        ("weight_decay", -0.1, "a number of 0 or more"),
        ("r_drop", -1.0, "a number of 0 or more"),
        ("smoothing", 1.0, "at least 0 and below 1"),
        ("average_from", 1.1, "a share from 0 to 1"),
        ("decay", "cosin", "one of ('inverse_square_root', 'linear', 'cosine')"),
        ("precision", "float16", "one of ('float32', 'bfloat16')"),
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


def test_it_is_plain_enough_for_json():
    recipe = Recipe(n_steps=10, learning_rate=1 / 3)
    assert Recipe(**json.loads(json.dumps(asdict(recipe)))) == recipe


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


# ---- of a job


@pytest.mark.parametrize(
    ("n_steps", "warm_up", "validate_every", "average_every"),
    [
        (None, 400, 500, 20),
        (8000, 400, 1000, 20),
        (2000, 200, 250, 20),
        (400, 40, 50, 4),
        (110, 11, 13, 1),
        (5, 1, 1, 1),
        (1, 1, 1, 1),
    ],
)
def test_fewer_steps_have_a_shorter_warm_up_and_as_many_validations(
    data, n_steps, warm_up, validate_every, average_every
):
    """A tenth of them at most, or a short run would never reach its rate; its last steps join the average."""
    recipe = make_recipe(Job(system="transformer", n_steps=n_steps), data)
    assert (recipe.n_steps, recipe.warm_up, recipe.validate_every, recipe.average_every) == (
        n_steps or 4000,
        warm_up,
        validate_every,
        average_every,
    )
    assert recipe.averages(recipe.n_steps)


def test_a_quick_run_takes_a_quarter_of_the_tokens(data):
    usual, quick = (make_recipe(Job(system="transformer", quick=quick), data) for quick in (False, True))
    assert quick.n_steps * quick.tokens_per_batch * 4 == usual.n_steps * usual.tokens_per_batch
    own = {"learning_rate": 1.0, "tokens_per_batch": 256}
    changed = make_recipe(Job(system="transformer", quick=True, n_steps=9, recipe=own), data)
    assert (changed.n_steps, changed.learning_rate, changed.tokens_per_batch) == (9, 1.0, 256)
    made = run_job(Job(system="transformer", scale="tiny", quick=True, n_steps=1, device="cpu"), data=data)
    assert (made.model.config.positions, made.model.config.dropout) == ("rotary", 0.0)
    assert made.about["command"].endswith("--steps 1 --quick")
    assert Job(system="gru_lm", quick=True).changes()[0] == {"dropout": 0.0}
    assert Job(system="transformer", scale="tiny", quick=True).changes()[0].keys() == {"dropout", "positions"}


def test_changes_are_made_to_configuration_and_recipe(data):
    job = Job(system="transformer", config={"n_heads": 1}, recipe={"decay": "cosine", "warm_up": 7})
    assert job.changes() == ({"n_heads": 1}, {"decay": "cosine", "warm_up": 7})
    assert make_recipe(job, data).decay == "cosine" and make_recipe(job, data).warm_up == 7
    assert make_recipe(replace(job, n_steps=50), data).warm_up == 5  # a short run is short
    epochs = make_recipe(Job(system="gru_lm", scale="multi30k", recipe={"tokens_per_batch": 16}), data)
    assert epochs.tokens_per_batch == 16 and epochs.n_steps % 20 == 0 and epochs.n_steps > 20 * 40


def test_the_same_job_makes_the_same_weights_and_another_seed_others(data):
    """Its steps are too small to matter: what differs are the weights that it began with."""
    short = {"n_steps": 2, "recipe": {"tokens_per_batch": 128, "learning_rate": 1e-9}}
    weights = []
    for noise, seed in ((1, 0), (2, 0), (2, 5)):
        torch.manual_seed(noise)  # what was drawn before does not matter
        job = Job(system="gru_lm", scale="tiny", device="cpu", seed=seed, **short)
        weights.append(run_job(job, data=data).model.state_dict())
    first, again, other = weights
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())
    assert max(float((tensor - other[name]).abs().max()) for name, tensor in first.items()) > 0.01


def test_configurations_fit_the_data(data):
    assert config_for("self_attentive", scale="tiny", data=data).n_classes == len(CLASSES)
    usual = config_for("transformer", scale="tiny", data=data)
    assert usual.vocab_size == data.tokenizer.vocab_size and usual.max_len < 41
    long = replace(data, validation=encode_ids([[5]], [[6] * 40]))  # 41 with EOS
    assert config_for("transformer", scale="tiny", data=long).max_len == 41
