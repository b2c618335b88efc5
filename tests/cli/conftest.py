"""A course folder of nothing but its pins, whose Python is the one that runs the tests."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.cli import commands
from course_lib.cli.place import Place

PYPROJECT = """
[build-system]
requires = ["setuptools==84.2.1"]
[project]
dependencies = ["no-such-package>=1.0,<2"]
optional-dependencies.lab = ["no-such-lab>=3.0"]
optional-dependencies.test = ["no-such-test-package>=2.0"]
[project.scripts]
course = "course_lib.cli:main"
"""


class TryPlace(Place):
    @property
    def python(self) -> Path:
        return Path(sys.executable)


@pytest.fixture
def place(tmp_path) -> TryPlace:
    root = tmp_path / "a course"
    (root / "build").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    pins = "no-such-package==1.0\nno-such-lab==3.0\nno-such-test-package==2.0\n"
    (root / "constraints.txt").write_text(pins, encoding="utf-8")
    return TryPlace(root)


@pytest.fixture
def no_set_up(monkeypatch):
    """The commands run here and now, in the environment that runs the tests."""
    monkeypatch.setattr(commands, "enter", lambda *_: None)


@pytest.fixture(scope="session")
def tiny_data():
    """Forty pairs of the toy language to learn from, twenty to look at."""
    from course_lib.text.toy.generate import generate
    from course_lib.text.words import WordTokenizer
    from course_lib.training.corpora import encode_data

    pairs = generate(60, seed=0, length=(3, 8))
    src, tgt = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    tokenizer = WordTokenizer.from_texts([*src, *tgt, "the cat sleeps", "a dog"])
    return encode_data("toy", (src[:40], tgt[:40]), (src[40:], tgt[40:]), tokenizer)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, tiny_data):
    """A file with a tiny system that has learned nothing: `checkpoint("bahdanau")`."""
    import torch

    from course_lib.models.registry import build, make_config
    from course_lib.training.checkpoint import save_checkpoint
    from course_lib.training.recipe import Recipe
    from course_lib.training.saved_system import describe

    def make(name: str, *, data: str = "toy", file: str = "", **more) -> Path:
        torch.manual_seed(0)
        config = make_config(name, scale="tiny", vocab_size=tiny_data.tokenizer.vocab_size)
        about = describe(
            name, config, Recipe(n_steps=1), replace(tiny_data, name=data), command="course_lib train"
        )
        path = tmp_path_factory.mktemp("saved") / (file or f"{name}.safetensors")
        save_checkpoint(path, build(name, config).state_dict(), about | {"history": []} | more)
        return path

    return make
