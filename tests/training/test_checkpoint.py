"""Checkpoints: loaded exactly as saved; other files are rejected, and no code in them is run."""

from __future__ import annotations

import io
import math
import pickle
import random
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from course_lib.models.registry import SYSTEMS
from course_lib.runtime import shipped_weights
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training import checkpoint
from course_lib.training.checkpoint import (
    FORMAT,
    CheckpointError,
    load_checkpoint,
    load_system,
    read_about,
    save_checkpoint,
)
from course_lib.training.data import encode_data
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import describe
from course_lib.translation.pipeline import translate
from tests.full_disk import full_disk

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


def test_a_checkpoint_that_does_not_fit_on_the_disk_leaves_the_old_one(tmp_path):
    path = tmp_path / "best.safetensors"
    save_checkpoint(path, {"weights": torch.ones(9)}, ABOUT)
    with full_disk(n_bytes=1000):
        save_checkpoint(path, {"weights": torch.zeros(999)}, {})
    loaded, about = load_checkpoint(path)
    assert torch.equal(loaded["weights"], torch.ones(9)) and about == ABOUT
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [path]


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
    headers = [{}, {"format": "pt"}, FORMAT | {"version": "99", "about": "{}"}]
    headers += [FORMAT | {"about": about} for about in ("{", "[]", "null", "[" * 100_000)]
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


# ---- damage


def test_a_flipped_bit_is_found_wherever_it_changes_anything(tmp_path):
    """In the tensors, in the text about them, and in what says where which tensor is."""
    path, draw, n_found = tmp_path / "x.safetensors", random.Random(0), 0
    saved = {"weight": torch.arange(40.0), "b": torch.ones(3)}
    save_checkpoint(path, saved, ABOUT)
    content = path.read_bytes()
    for position in (draw.randrange(len(content)) for _ in range(300)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            tensors, about = load_checkpoint(path)
        except CheckpointError as error:
            assert str(path) in str(error)
            n_found += 1
        else:  # padding
            assert about == ABOUT and tensors.keys() == saved.keys()
            assert all(torch.equal(tensors[name], tensor) for name, tensor in saved.items())
    assert n_found > 270
    path.write_bytes(content.replace(b"gru_lm", b"gru_ln"))
    for reader in (load_checkpoint, read_about):
        with pytest.raises(CheckpointError, match="checksum"):
            reader(path)


def test_a_damaged_shipped_file_is_found_and_can_be_restored(tmp_path, monkeypatch):
    content = bytearray(shipped_weights("gru_lm").read_bytes())
    content[-1000] ^= 4
    monkeypatch.setattr(checkpoint, "shipped_weights", lambda name: tmp_path / f"{name}.safetensors")
    path = tmp_path / "gru_lm.safetensors"
    for content_of in (bytes(content), None):
        if content_of is None:
            path.unlink()
        else:
            path.write_bytes(content_of)
        with pytest.raises(CheckpointError, match="git checkout -- data/checkpoints") as caught:
            load_system(path)
        assert "train" not in str(caught.value)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match="not a file"):
        load_checkpoint(tmp_path)


# ---- the header

STANDING = {"step": 3, "position": [0, 3], "seconds": 1.5, "since": [4.0, 9.0], "n_averaged": 0}
RECORD = {"step": 3, "epoch": 0, "rate": 1e-3, "train_loss": 2.0, "loss": math.nan, "seconds": 1}


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("config", "gru_lm", "config"),
        ("config", {"system": 3}, "config.system"),
        ("tokenizer", [], "tokenizer"),
        ("tokenizer", {"kind": "words"}, "tokenizer.text"),
        ("recipe", 12, "recipe"),
        ("recipe", {"n_steps": "12"}, "recipe.n_steps"),
        ("recipe", {"n_steps": 12, "learning_rate": "fast"}, "recipe.learning_rate"),
        ("recipe", {"n_steps": 12, "tokens_per_batch": None}, "recipe.tokens_per_batch"),
        ("data", "toy", "data"),
        ("data", {"name": "toy", "fingerprint": None}, "data.fingerprint"),
        ("objective", "shifted", "objective"),
        ("history", {}, "history"),
        ("history", [RECORD, 7], r"history\[1\]"),
        ("history", [RECORD | {"loss": None}], r"history\[0\].loss"),
        ("history", [RECORD | {"loss": 10**400}], r"history\[0\].loss"),
        ("history", [RECORD | {"step": "3"}], r"history\[0\].step"),
        ("history", [RECORD | {"step": True}], r"history\[0\].step"),
        ("history", [RECORD | {"averaged": "no"}], r"history\[0\].averaged"),
        ("history", [RECORD | {"scores": 0.5}], r"history\[0\].scores"),
        ("standing", 3, "standing"),
        ("standing", STANDING | {"step": -5}, "standing.step"),
        ("standing", STANDING | {"step": 3.0}, "standing.step"),
        ("standing", STANDING | {"position": [1, 2, 3]}, "standing.position"),
        ("standing", STANDING | {"since": [1.0, "2"]}, "standing.since"),
        ("standing", STANDING | {"seconds": math.nan}, "standing.seconds"),
        ("standing", STANDING | {"n_averaged": -1}, "standing.n_averaged"),
    ],
)
def test_a_wrong_entry_of_the_header_is_named(tmp_path, field, value, name):
    path, about = tmp_path / "x.safetensors", {"history": [RECORD], "standing": STANDING}
    save_checkpoint(path, {}, about | {field: value})
    for reader in (load_checkpoint, read_about):
        with pytest.raises(CheckpointError, match=rf"{re.escape(str(path))} .*expected {name} to be "):
            reader(path)
    save_checkpoint(path, {}, about)
    assert load_checkpoint(path)[1]["standing"] == STANDING


def test_a_missing_field_is_named(save_system):
    model, path = save_system()
    for field in ("config", "tokenizer"):
        _, path = save_system(model=model, **{field: None})
        with pytest.raises(CheckpointError, match=f"expected {field} .*missing"):
            load_system(path)


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
        load_system(save_system(standing=STANDING)[1])


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS])
def test_every_system_can_be_saved_and_loaded(save_system, make, name):
    model = make(name)
    if name == "ngram_lm":  # the size of its tables depends on the training data
        model.fit([[5, 6, 7], [6, 7]])
    _, path = save_system(name, model=model)
    loaded = load_system(path).model.state_dict()
    assert loaded.keys() == model.state_dict().keys()
    assert all(torch.equal(loaded[key], tensor) for key, tensor in model.state_dict().items())


@pytest.mark.parametrize("size", ["d_model", "d_ff", "n_layers", "max_len"])
@pytest.mark.parametrize("n", [20_000, 10**6, 10**11])
def test_a_system_much_larger_than_its_weights_is_refused(save_system, monkeypatch, size, n):
    """As soon as it has made too many numbers."""
    monkeypatch.setattr(checkpoint, "MOST_UNSAVED", 10**5)
    model, path = save_system("transformer")
    config = load_checkpoint(path)[1]["config"] | {size: n}
    _, path = save_system("transformer", model=model, config=config)
    with pytest.raises(CheckpointError, match="can't be built here"):
        load_system(path)


def test_a_tokenizer_with_other_tokens_than_the_system_is_refused(save_system):
    few = {"kind": "words", "text": WordTokenizer(["few"]).to_text()}
    with pytest.raises(CheckpointError, match="5 tokens"):
        load_system(save_system("gru_lm", tokenizer=few)[1])


def test_a_bpe_tokenizer_can_be_saved_and_loaded(save_system, make):
    tokenizer = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=120)
    data = encode_data("two", (TEXTS, TEXTS), (TEXTS, TEXTS), tokenizer)
    model = make("gru_lm", vocab_size=tokenizer.vocab_size)
    _, path = save_system("gru_lm", model, data)
    assert load_system(path).tokenizer.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
