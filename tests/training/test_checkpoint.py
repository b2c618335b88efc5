"""Checkpoints: exact there and back, refused when anything is wrong, never half written."""

from __future__ import annotations

import io
import json
import pickle
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from course_lib import runtime
from course_lib.models.registry import SYSTEMS, config_to_json
from course_lib.text.bpe import BpeTokenizer
from course_lib.training.checkpoint import (
    FORMAT,
    VERSION,
    CheckpointError,
    describe,
    load_checkpoint,
    load_system,
    read_about,
    save_checkpoint,
    sum_tensors,
)
from course_lib.training.corpora import encode_data
from course_lib.training.recipe import Recipe
from course_lib.translation.translate import translate

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
ABOUT = {"config": {"system": "gru_lm"}, "words": ["é", "l'", "🙂"], "loss": [0.1 + 0.2, 1e-9], "none": None}
TEXTS = ["the cat sleeps", "a dog sees the old house"]


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "some" / "new" / "folder.safetensors"
    save_checkpoint(path, {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(3)}, ABOUT)
    return path


def refused(path: Path, *parts: str, readers=(load_checkpoint, read_about)) -> None:
    """Refused with a message that names the file and all parts; its bytes stay."""
    before = path.read_bytes()
    for reader in readers:
        with pytest.raises(CheckpointError) as caught:
            reader(path)
        for part in (str(path), *parts):
            assert part in str(caught.value)
    assert path.read_bytes() == before


# ---- there and back


def test_every_dtype_and_shape_comes_back_exactly(tmp_path):
    path = tmp_path / "x.safetensors"
    numbers = 100 * torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    kept = {name: numbers.to(getattr(torch, name)) for name in DTYPES} | {
        "nothing": torch.zeros(0, 3),
        "one": torch.tensor(1 / 3),
        "odd": torch.tensor([float("nan"), float("inf"), -0.0]),
        "turned": torch.arange(6).reshape(2, 3).T,
        "é": torch.ones(1, requires_grad=True),
    }
    save_checkpoint(path, kept, ABOUT)
    found, about = load_checkpoint(path)
    path.write_bytes(bytes(len(path.read_bytes())))  # what was read is no window into the file
    assert about == ABOUT and found.keys() == kept.keys()
    for name, tensor in kept.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        same = found[name].contiguous().flatten().view(torch.uint8)
        assert torch.equal(same, tensor.detach().contiguous().flatten().view(torch.uint8)), name


def test_the_checksum_sees_names_types_shapes_and_numbers():
    one = {"a": torch.zeros(2, 3), "b": torch.ones(1)}
    others = [
        {"a": torch.zeros(2, 3), "c": torch.ones(1)},
        {"a": torch.zeros(3, 2), "b": torch.ones(1)},
        {"a": torch.zeros(2, 3, dtype=torch.int32), "b": torch.ones(1)},
        {"a": torch.zeros(2, 3), "b": torch.zeros(1)},
        {"a": torch.zeros(2, 3)},
    ]
    assert sum_tensors(one) == sum_tensors({"b": one["b"], "a": one["a"]})
    assert len({sum_tensors(each) for each in [one, *others]}) == 6


def test_the_header_is_plain_json(path):
    """Anybody can read it, with three lines of Python."""
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])["__metadata__"]
    assert header["format"] == FORMAT and json.loads(header["about"]) == ABOUT == read_about(path)


# ---- refused


def test_one_byte_changed_or_cut_off_anywhere(path):
    """In the header or in the numbers: never read as if nothing had been."""
    whole = path.read_bytes()
    for place in [*range(16), *range(16, len(whole), 5), *range(len(whole) - 32, len(whole))]:
        path.write_bytes(whole[:place])
        refused(path, "damaged or no safetensors file", "It was not changed")
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            found, about = load_checkpoint(path)
        except CheckpointError as error:
            assert str(path) in str(error)
        else:  # a space between two parts of the header means nothing
            assert about == ABOUT and torch.equal(found["a"], torch.arange(6.0).reshape(2, 3))


def test_numbers_and_headers_that_were_edited(path, tmp_path):
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[-3] ^= 0x10
    path.write_bytes(changed)
    refused(path, "is damaged", "its tensors do not have the checksum", readers=[load_checkpoint])
    path.write_bytes(whole.replace(b"gru_lm", b"rnn_lm"))
    refused(path, "is damaged", "its header does not have the checksum")
    with pytest.raises(CheckpointError, match=r"Expected a checkpoint at .*no such file"):
        load_checkpoint(tmp_path / "no.safetensors")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({}, "no checkpoint of this course, but of format None"),
        ({"format": "pt"}, "no checkpoint of this course, but of format 'pt'"),
        ({"format": FORMAT}, "has version None"),
        ({"format": FORMAT, "version": "99"}, f"has version '99'. Yours reads {VERSION}: update it"),
        ({"format": FORMAT, "version": str(VERSION), "about": "{"}, "its header does not have the checksum"),
    ],
)
def test_somebody_elses_safetensors(path, header, message):
    path.write_bytes(save({"a": torch.ones(2)}, metadata=header))
    refused(path, message, "Get or train it again")


class Trap:
    """Unpickling it runs code."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path(__import__('os').environ['TRAP']).touch()",)


def test_a_pickle_is_refused_and_never_run(path, tmp_path, monkeypatch):
    sprung, by_torch = tmp_path / "sprung", io.BytesIO()
    monkeypatch.setenv("TRAP", str(sprung))
    torch.save({"weights": Trap()}, by_torch)
    for content in (pickle.dumps(Trap()), by_torch.getvalue(), struct.pack("<Q", 2**62) + b"{}"):
        path.write_bytes(content)
        refused(path, "damaged or no safetensors file")
    assert not sprung.exists()


@pytest.mark.parametrize("where", ["fsync", "replace", "chmod"])
def test_a_failing_write_leaves_the_old_file(path, monkeypatch, where):
    def full(*args):
        raise OSError("No space left on device")

    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_checkpoint(path, {}, {"what": "JSON cannot hold", "path": Path("x")})
    monkeypatch.setattr(runtime.os, where, full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"a": torch.zeros(100)}, {})
    assert path.read_bytes() == before
    assert [child.name for child in path.parent.iterdir()] == [path.name]


# ---- systems


@pytest.fixture
def save_system(tmp_path, data, make):
    """Save a new system, with what is said of it changed."""

    def one(name="bahdanau", model=None, **changes):
        model, path = model or make(name), tmp_path / "x.safetensors"
        about = describe(name, model.config, Recipe(n_steps=1), data, command="course_lib train") | changes
        save_checkpoint(path, model.state_dict(), about)
        return model, path

    return one


def test_it_translates_as_it_did(save_system, data):
    model, path = save_system()
    saved = load_system(path)
    assert saved.name == "bahdanau" and saved.tokenizer.to_text() == data.tokenizer.to_text()
    assert translate(TEXTS, saved.model, saved.tokenizer) == translate(TEXTS, model, data.tokenizer)
    assert not saved.model.training and saved.about["command"] == "course_lib train"
    assert saved.about["data"] == {"name": "few", "fingerprint": data.fingerprint}
    assert saved.about["versions"]["torch"] == torch.__version__


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS])
def test_every_system_comes_back(save_system, make, name):
    model = make(name)
    if name == "ngram_lm":  # its tables are as long as what it has read
        model.fit([[5, 6, 7], [6, 7]])
    _, path = save_system(name, model=model)
    found = load_system(path).model.state_dict()
    assert found.keys() == model.state_dict().keys()
    assert all(torch.equal(found[key], tensor) for key, tensor in model.state_dict().items())


def test_bpe_comes_back(save_system):
    tokenizer = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=120)
    data = encode_data("two", (TEXTS, TEXTS), (TEXTS, TEXTS), tokenizer)
    about = describe("gru_lm", save_system("gru_lm")[0].config, Recipe(n_steps=1), data)
    _, path = save_system("gru_lm", tokenizer=about["tokenizer"])
    assert load_system(path).tokenizer.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("config", {"system": "bahdanaut"}, "no system 'bahdanaut'. Did you mean bahdanau"),
        ("config", {"hidden": 13}, "size mismatch"),
        ("config", {"colour": 1}, "'colour'"),
        ("config", {"hidden": "wide"}, "cannot be built"),
        ("config", {"dropout": 2.0}, "Expected dropout"),
        ("tokenizer", {"kind": "letters"}, "'letters'"),
        ("tokenizer", {"text": "{}"}, "tokenizer in"),
        ("standing", {"step": 3}, "to go on from. Load the best.safetensors beside it"),
    ],
)
def test_what_cannot_be_built_is_refused(save_system, make, data, key, change, message):
    kept = {
        "config": config_to_json("bahdanau", make("bahdanau").config),
        "tokenizer": {"kind": "words", "text": data.tokenizer.to_text()},
    }
    _, path = save_system(**{key: kept.get(key, {}) | change})
    refused(path, message, readers=[load_system])
