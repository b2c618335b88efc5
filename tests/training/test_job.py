"""A whole run by name: the same job makes the same weights, and a short one is a whole run made smaller."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.training.job import Job, make_recipe, run_job

SHORT = Job(system="gru_lm", scale="tiny", device="cpu", n_steps=2, tokens_per_batch=128, learning_rate=1e-9)


def test_the_same_job_makes_the_same_weights_and_another_seed_others(data):
    """Its steps are too small to matter: what differs are the weights that it began with."""
    weights = []
    for noise, seed in ((1, 0), (2, 0), (2, 5)):
        torch.manual_seed(noise)  # what was drawn before does not matter
        weights.append(run_job(replace(SHORT, seed=seed), data=data).model.state_dict())
    first, again, other = weights
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name
    assert max(float((tensor - other[name]).abs().max()) for name, tensor in first.items()) > 0.01


@pytest.mark.parametrize(
    ("n_steps", "warm_up", "validate_every"),
    [(None, 400, 500), (8000, 400, 1000), (2000, 200, 250), (400, 40, 50), (50, 5, 6), (5, 1, 1), (1, 1, 1)],
)
def test_fewer_steps_have_a_shorter_warm_up_and_as_many_looks(data, n_steps, warm_up, validate_every):
    """A tenth of them at most: otherwise a short run would never reach its rate."""
    recipe = make_recipe(Job(system="transformer", n_steps=n_steps), data)
    assert (recipe.warm_up, recipe.validate_every) == (warm_up, validate_every)
    assert recipe.n_steps == (n_steps or 4000)


def test_the_last_steps_of_a_short_run_join_the_average(data):
    """With twenty steps between two of them, a run of 110 would end as it was at step 100."""
    for n_steps, every in ((2000, 20), (110, 1), (500, 5)):
        recipe = make_recipe(Job(system="transformer", n_steps=n_steps), data)
        assert recipe.average_every == every and recipe.averages(n_steps)


def test_a_quick_run_takes_a_quarter_of_the_tokens(data):
    usual, quick = (make_recipe(Job(system="transformer", quick=quick), data) for quick in (False, True))
    assert quick.n_steps * quick.tokens_per_batch * 4 == usual.n_steps * usual.tokens_per_batch
    assert make_recipe(Job(system="transformer", quick=True, n_steps=9), data).n_steps == 9
    assert make_recipe(Job(system="transformer", quick=True, learning_rate=1.0), data).learning_rate == 1.0
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
