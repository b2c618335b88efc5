"""Checkpoints: loaded exactly as saved; other files are rejected, and no code in them is run."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from course_lib.models.registry import SYSTEMS
from course_lib.text.bpe import BpeTokenizer
from course_lib.training.checkpoint import (
    FORMAT,
    CheckpointError,
    load_checkpoint,
    load_system,
    read_about,
    save_checkpoint,
)
from course_lib.training.data import encode_data
from course_lib.training.job import describe
from course_lib.training.recipe import Recipe
from course_lib.translation.pipeline import translate

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
ABOUT = {"config": {"system": "gru_lm"}, "words": ["é", "l'", "🙂"], "loss": [0.1 + 0.2, 1e-9], "none": None}
TEXTS = ["the cat sleeps", "a dog sees the old house"]


def test_every_dtype_and_shape_is_loaded_exactly(tmp_path):
    path = tmp_path / "some" / "new" / "folder.safetensors"
    numbers = 100 * torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    saved = {name: numbers.to(getattr(torch, name)) for name in DTYPES} | {
        "nothing": torch.zeros(0, 3),
        "odd": torch.tensor([float("nan"), float("inf"), -0.0]),
        "transposed": torch.arange(6).reshape(2, 3).T,
        "é": torch.ones(1, requires_grad=True),
    }
    save_checkpoint(path, saved, ABOUT)
    loaded, about = load_checkpoint(path)
    assert about == read_about(path) == ABOUT and loaded.keys() == saved.keys()
    path.write_bytes(bytes(len(path.read_bytes())))  # the tensors are copies, not views of the file
    for name, tensor in saved.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        actual = loaded[name].contiguous().flatten().view(torch.uint8)
        assert torch.equal(actual, tensor.detach().contiguous().flatten().view(torch.uint8)), name


def test_a_full_disk_leaves_the_older_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    save_checkpoint(path, {"a": torch.ones(9)}, ABOUT)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"a": torch.zeros(9)}, ABOUT)
    assert path.read_bytes() == before and [*tmp_path.glob("*.safetensors*")] == [path]


class Trap:
    """Unpickling it runs code."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path(__import__('os').environ['TRAP']).touch()",)


def denied(path, *_):
    raise PermissionError(13, "Permission denied", str(path))


def test_other_files_are_rejected_and_not_changed_or_run(tmp_path, monkeypatch):
    path, sprung, by_torch = tmp_path / "x.safetensors", tmp_path / "sprung", io.BytesIO()
    with pytest.raises(CheckpointError, match=r"Expected a checkpoint at .*no such file"):
        load_checkpoint(path)
    path.touch()
    with monkeypatch.context() as locked, pytest.raises(PermissionError):  # not "damaged"
        locked.setattr(Path, "open", denied)
        load_checkpoint(path)
    monkeypatch.setenv("TRAP", str(sprung))
    torch.save({"weights": Trap()}, by_torch)
    save_checkpoint(path, {"a": torch.ones(9)}, ABOUT)
    contents = [path.read_bytes()[:size] for size in range(0, path.stat().st_size, 7)]  # truncated
    contents += [pickle.dumps(Trap()), by_torch.getvalue()]
    headers = [{}, {"format": "pt"}, FORMAT | {"version": "99", "about": "{}"}, FORMAT | {"about": "{"}]
    strange = [save({"a": torch.ones(2)}, metadata=header) for header in headers]
    for content in contents + strange:
        path.write_bytes(content)
        why = "not a checkpoint of this course" if content in strange else "damaged or not a safetensors"
        for reader in (load_checkpoint, read_about, load_system):
            with pytest.raises(CheckpointError) as caught:
                reader(path)
            assert f"{path} is {why}" in str(caught.value)
        assert path.read_bytes() == content
    assert not sprung.exists()


# ---- systems


@pytest.fixture
def save_system(tmp_path, data, make):
    """Saves a new system, with changed metadata."""

    def save_new(name="bahdanau", model=None, data=data, **changes):
        model, path = model or make(name), tmp_path / "x.safetensors"
        about = describe(name, model.config, Recipe(n_steps=1), data, command="course_lib train") | changes
        save_checkpoint(path, model.state_dict(), about)
        return model, path

    return save_new


def test_a_loaded_system_translates_as_before_and_has_its_metadata(save_system, data):
    model, path = save_system()
    saved = load_system(path)
    assert saved.name == "bahdanau" and saved.tokenizer.to_text() == data.tokenizer.to_text()
    assert translate(TEXTS, saved.model, saved.tokenizer) == translate(TEXTS, model, data.tokenizer)
    assert not saved.model.training and saved.about["command"] == "course_lib train"
    assert saved.about["data"] == {"name": "few", "fingerprint": data.fingerprint}
    assert saved.about["versions"]["torch"] == torch.__version__
    with pytest.raises(CheckpointError, match=r"best.safetensors"):
        load_system(save_system(standing={"step": 3})[1])
    save_checkpoint(path, {"a": torch.ones(2)}, {})
    with pytest.raises(CheckpointError, match=r"which system"):
        load_system(path)


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS])
def test_every_system_can_be_saved_and_loaded(save_system, make, name):
    model = make(name)
    if name == "ngram_lm":  # the size of its tables depends on the training data
        model.fit([[5, 6, 7], [6, 7]])
    _, path = save_system(name, model=model)
    loaded = load_system(path).model.state_dict()
    assert loaded.keys() == model.state_dict().keys()
    assert all(torch.equal(loaded[key], tensor) for key, tensor in model.state_dict().items())


def test_a_bpe_tokenizer_can_be_saved_and_loaded(save_system):
    tokenizer = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=120)
    _, path = save_system("gru_lm", data=encode_data("two", (TEXTS, TEXTS), (TEXTS, TEXTS), tokenizer))
    assert load_system(path).tokenizer.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
