"""A corpus of a hundred short sentences, tiny systems, and a short recipe: a run is over in no time."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.corpora import encode_data, sides
from course_lib.training.job import describe
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder


@pytest.fixture(autouse=True)
def nobody_watches(monkeypatch):
    monkeypatch.setenv("COURSE_BAR", "0")


@pytest.fixture(scope="session")
def encoded():
    """Generated pairs as training data: all to learn from, or all but the last few, to validate on."""

    def one(pairs, n_validation=0):
        both = sides(pairs)
        n = len(pairs) - n_validation
        train, held = (tuple(side[part] for side in both) for part in (slice(n), slice(n % len(pairs), None)))
        return encode_data("few", train, held, WordTokenizer.from_texts([*train[0], *train[1]]))

    return one


@pytest.fixture(scope="session")
def data(encoded):
    """100 pairs to learn from, 20 to validate on."""
    return encoded(generate(120, seed=0, length=(3, 8)), 20)


@pytest.fixture(scope="session")
def make(data):
    """A new tiny system; the same seed gives the same weights."""

    def one(name="gru_lm", *, seed=0, dropout=0.2, **sizes):
        torch.manual_seed(seed)
        config = make_config(name, scale="tiny", vocab_size=data.tokenizer.vocab_size)
        return build(name, replace(config, dropout=dropout, **sizes))

    return one


@pytest.fixture(scope="session")
def recipe():
    """12 steps, a validation after every fourth, an average of the last few."""
    return Recipe(
        n_steps=12,
        tokens_per_batch=128,
        learning_rate=1e-2,
        warm_up=3,
        decay="linear",
        validate_every=4,
        average_from=0.5,
        average_every=2,
    )


@pytest.fixture
def folder(tmp_path, data, recipe, make):
    """The folder of a run of gru_lm with this recipe, or with another."""

    def one(recipe=recipe, path=tmp_path / "run", name="gru_lm"):
        return RunFolder(path, describe(name, make(name).config, recipe, data))

    return one
