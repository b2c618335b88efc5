"""A corpus of a hundred short sentences, tiny systems and a short recipe, so that runs are fast."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import encode_data, sides
from course_lib.training.job import describe
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder


@pytest.fixture(autouse=True)
def no_progress_bar(monkeypatch):
    monkeypatch.setenv("COURSE_BAR", "0")


@pytest.fixture(scope="session")
def encoded():
    """Makes training data of generated pairs; the last `n_validation`, or all, are for validation."""

    def encode(pairs, n_validation=0):
        texts = sides(pairs)
        n = len(pairs) - n_validation
        parts = (slice(n), slice(n % len(pairs), None))
        train, validation = (tuple(side[part] for side in texts) for part in parts)
        return encode_data("few", train, validation, WordTokenizer.from_texts([*train[0], *train[1]]))

    return encode


@pytest.fixture(scope="session")
def data(encoded):
    """100 training pairs and 20 validation pairs."""
    return encoded(generate(120, seed=0, length=(3, 8)), 20)


@pytest.fixture(scope="session")
def make(data):
    """Builds a tiny system; the same seed gives the same weights."""

    def build_tiny(name="gru_lm", *, seed=0, dropout=0.2, **sizes):
        torch.manual_seed(seed)
        config = make_config(name, scale="tiny", vocab_size=data.tokenizer.vocab_size)
        return build(name, replace(config, dropout=dropout, **sizes))

    return build_tiny


@pytest.fixture(scope="session")
def recipe():
    """12 steps, a validation after every fourth, and an average of the weights of the last few."""
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
    """Opens the folder of a run of gru_lm, by default with the recipe above."""

    def open_folder(recipe=recipe, path=tmp_path / "run", name="gru_lm"):
        return RunFolder(path, describe(name, make(name).config, recipe, data))

    return open_folder
