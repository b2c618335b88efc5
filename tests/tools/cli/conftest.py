"""Fixtures for the tests of the commands: no set-up, sixty sentences, tiny untrained systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.cli import commands


@pytest.fixture
def no_set_up(monkeypatch):
    """Run commands in the environment that runs the tests."""
    monkeypatch.setattr(commands, "ensure", lambda *_: None)


@pytest.fixture(scope="session")
def tiny_data():
    """Forty pairs of the toy language for training, twenty for validation."""
    from course_lib.text.toy.generate import generate
    from course_lib.text.word_tokenizer import WordTokenizer
    from course_lib.training.data import encode_data

    pairs = generate(60, seed=0, length=(3, 8))
    src, tgt = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    tokenizer = WordTokenizer.from_texts([*src, *tgt, "the cat sleeps", "a dog", "il elle"])
    return encode_data("toy", (src[:40], tgt[:40]), (src[40:], tgt[40:]), tokenizer)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, tiny_data):
    """A function that saves a tiny untrained system and returns its file: `checkpoint("bahdanau")`."""
    import torch

    from course_lib.models.registry import build
    from course_lib.training.checkpoint import save_checkpoint
    from course_lib.training.job import Job, config_for, describe
    from course_lib.training.recipe import Recipe
    from tools.train_system import with_classes

    def make(name: str, *, file: str = "") -> Path:
        torch.manual_seed(0)
        config = config_for(with_classes(Job(system=name, scale="tiny")), tiny_data)
        about = describe(name, config, Recipe(n_steps=1), tiny_data, command="course_lib train")
        path = tmp_path_factory.mktemp("saved") / (file or f"{name}.safetensors")
        save_checkpoint(path, build(name, config).state_dict(), about | {"history": []})
        return path

    return make
