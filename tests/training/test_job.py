"""Jobs: their recipe and configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.text.encoded import encode_ids
from course_lib.training.job import Job, config_for, make_recipe, run_job

SHORT = {"tokens_per_batch": 128, "learning_rate": 1e-2, "average_from": 1.0}


@pytest.fixture
def job(tmp_path):
    """Makes a job for a tiny system with 8 steps."""

    def make_job(name, folder=tmp_path, n_steps=8, **more):
        more["recipe"] = SHORT | more.get("recipe", {})
        return Job(system=name, scale="tiny", device="cpu", folder=folder, n_steps=n_steps, **more)

    return make_job


@pytest.mark.parametrize(
    ("n_steps", "warm_up", "validate_every", "average_every"),
    [(None, 400, 500, 20), (8000, 400, 1000, 20), (400, 40, 50, 4), (110, 11, 13, 1), (1, 1, 1, 1)],
)
def test_fewer_steps_have_a_shorter_warm_up_and_as_many_validations(
    data, n_steps, warm_up, validate_every, average_every
):
    """The warm-up is at most a tenth, so that a short run reaches its learning rate and averages weights."""
    recipe = make_recipe(Job(system="transformer", n_steps=n_steps), data)
    actual = recipe.n_steps, recipe.warm_up, recipe.validate_every, recipe.average_every
    assert actual == (n_steps or 4000, warm_up, validate_every, average_every)
    assert recipe.averages(recipe.n_steps)


def test_a_quick_run_takes_a_quarter_of_the_tokens(data):
    usual, quick = (make_recipe(Job(system="transformer", quick=quick), data) for quick in (False, True))
    assert quick.n_steps * quick.tokens_per_batch * 4 == usual.n_steps * usual.tokens_per_batch
    own = {"learning_rate": 1.0, "tokens_per_batch": 256}
    changed = make_recipe(Job(system="transformer", quick=True, n_steps=9, recipe=own), data)
    assert (changed.n_steps, changed.learning_rate, changed.tokens_per_batch) == (9, 1.0, 256)
    assert Job(system="gru_lm", quick=True).changes()[0] == {"dropout": 0.0}
    tiny = Job(system="transformer", scale="tiny", quick=True, config={"n_heads": 1})
    assert tiny.changes()[0] == {"dropout": 0.0, "positions": "rotary", "n_heads": 1}


def test_changes_reach_the_recipe_and_the_configuration_fits_the_data(data, job):
    own = Job(system="transformer", config={"n_heads": 1}, recipe={"decay": "cosine", "warm_up": 7})
    assert make_recipe(own, data).decay == "cosine" and make_recipe(own, data).warm_up == 7
    assert make_recipe(replace(own, n_steps=50), data).warm_up == 5  # a tenth of the steps
    epochs = make_recipe(Job(system="gru_lm", scale="multi30k", recipe={"tokens_per_batch": 16}), data)
    assert epochs.tokens_per_batch == 16 and epochs.n_steps % 20 == 0 and epochs.n_steps > 20 * 40
    made = run_job(job("transformer", n_steps=1, config={"n_heads": 1}), data=data).model.config
    assert made.n_heads == 1 and made.vocab_size == data.tokenizer.vocab_size and made.max_len < 41
    long = replace(data, validation=encode_ids([[5]], [[6] * 40]))  # 41 with EOS
    assert config_for(Job(system="transformer", scale="tiny"), long).max_len == 41


def test_weights_are_reproducible_and_depend_on_the_seed(data, job):
    """The steps are too small to matter, so weights differ only by their initialisation."""
    weights = []
    for noise, seed in ((1, 0), (2, 0), (2, 5)):
        torch.manual_seed(noise)  # earlier random numbers must not matter
        two_steps = job("gru_lm", None, 2, seed=seed, recipe={"learning_rate": 1e-9})
        weights.append(run_job(two_steps, data=data).model.state_dict())
    first, again, other = weights
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())
    assert max(float((tensor - other[name]).abs().max()) for name, tensor in first.items()) > 0.01
