"""A recipe refuses what cannot be meant, and says when weights join the average."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from course_lib.training.schedule import learning_rate

from course_lib.training.recipe import Recipe


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


def test_its_rate_is_the_schedules():
    recipe = Recipe(n_steps=100, learning_rate=3e-3, warm_up=10, decay="linear")
    for step in (1, 10, 55, 100):
        assert recipe.rate(step) == learning_rate(step, peak=3e-3, warm_up=10, decay="linear", n_steps=100)


def test_which_weights_join_the_average():
    recipe = Recipe(n_steps=20, average_from=0.5, average_every=3)
    assert [step for step in range(1, 21) if recipe.averages(step)] == [12, 15, 18]
    assert not any(Recipe(n_steps=20, average_every=1).averages(step) for step in range(1, 21))
    always = Recipe(n_steps=5, average_from=0.0, average_every=1)
    assert all(always.averages(step) for step in range(1, 6))


def test_it_is_plain_enough_for_json():
    recipe = Recipe(n_steps=10, learning_rate=1 / 3)
    assert Recipe(**json.loads(json.dumps(asdict(recipe)))) == recipe
