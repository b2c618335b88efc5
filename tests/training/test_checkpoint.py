"""Checkpoints: exact there and back, refused when anything is wrong, and never half written."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from course_lib import runtime
from course_lib.training.checkpoint import (
    FORMAT,
    VERSION,
    CheckpointError,
    load_checkpoint,
    put_weights,
    read_about,
    save_checkpoint,
    sum_tensors,
)

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]
ABOUT = {"config": {"system": "gru_lm"}, "words": ["é", "l'", "🙂"], "loss": [0.1 + 0.2, 1e-9], "none": None}


def tensors():
    generator = torch.Generator().manual_seed(0)
    numbers = 100 * torch.randn(3, 4, generator=generator)
    return {f"{dtype}": numbers.to(dtype) for dtype in DTYPES}


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "some" / "new" / "folder.safetensors"
    save_checkpoint(path, {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(3)}, ABOUT)
    return path


def refused(path: Path, *parts: str, reader=load_checkpoint) -> None:
    """Refused with a message that names the file and all parts; its bytes stay."""
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        reader(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)
    assert path.read_bytes() == before


# ---- there and back


def test_every_dtype_and_shape_comes_back_exactly(tmp_path):
    kept = tensors() | {
        "nothing": torch.zeros(0, 3),
        "one": torch.tensor(1 / 3),
        "odd": torch.tensor([float("nan"), float("inf"), -0.0]),
        "turned": torch.arange(6).reshape(2, 3).T,
        "é": torch.ones(1, requires_grad=True),
    }
    save_checkpoint(tmp_path / "x.safetensors", kept, ABOUT)
    found, about = load_checkpoint(tmp_path / "x.safetensors")
    assert about == ABOUT == read_about(tmp_path / "x.safetensors")
    assert found.keys() == kept.keys()
    for name, tensor in kept.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        same = found[name].contiguous().flatten().view(torch.uint8)
        assert torch.equal(same, tensor.detach().contiguous().flatten().view(torch.uint8)), name


def test_what_was_read_is_no_window_into_the_file(path):
    found, _ = load_checkpoint(path)
    path.write_bytes(bytes(len(path.read_bytes())))
    assert torch.equal(found["a"], torch.arange(6.0).reshape(2, 3))


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


# ---- refused


def test_a_missing_file(tmp_path):
    with pytest.raises(CheckpointError, match=r"Expected a checkpoint at .*no such file"):
        load_checkpoint(tmp_path / "no.safetensors")


def test_cut_short_anywhere(path):
    whole = path.read_bytes()
    for length in [*range(40), *range(40, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path, "damaged or no safetensors file", "It was not changed", "train this one again")


def test_one_byte_changed_anywhere(path):
    """In the header or in the numbers: never read as if nothing had been."""
    whole = path.read_bytes()
    for place in [*range(16), *range(16, len(whole), 5), *range(len(whole) - 32, len(whole))]:
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            found, about = load_checkpoint(path)
        except CheckpointError as error:
            assert str(path) in str(error)
        else:  # a space between two parts of the header means nothing
            assert about == ABOUT and torch.equal(found["a"], torch.arange(6.0).reshape(2, 3))
        assert path.read_bytes() == bytes(changed)


def test_one_number_changed(path):
    changed = bytearray(path.read_bytes())
    changed[-3] ^= 0x10
    path.write_bytes(changed)
    refused(path, "is damaged", "its tensors do not have the checksum", "It was not changed")


def with_header(path: Path, **header: str) -> None:
    path.write_bytes(save({"a": torch.ones(2)}, metadata=header))


@pytest.mark.parametrize("header", [{}, {"format": "pt"}])
@pytest.mark.parametrize("reader", [load_checkpoint, read_about])
def test_somebody_elses_safetensors(path, header, reader):
    with_header(path, **header)
    refused(path, "no checkpoint of this course", repr(header.get("format")), FORMAT, reader=reader)


@pytest.mark.parametrize("version", [str(VERSION + 1), "1000", "0", "1.5", "", "new"])
@pytest.mark.parametrize("reader", [load_checkpoint, read_about])
def test_a_newer_version(path, version, reader):
    with_header(path, format=FORMAT, version=version, about="{}")
    refused(path, f"has version {version!r}", f"up to {VERSION}", "git pull", reader=reader)


@pytest.mark.parametrize("about", ["", "{", '{"config": ', "[1, 2]", "3", "null"])
@pytest.mark.parametrize("reader", [load_checkpoint, read_about])
def test_a_damaged_header(path, about, reader):
    with_header(path, format=FORMAT, version=str(VERSION), about=about)
    refused(path, "is damaged", "header", "Get or train it again", reader=reader)


@pytest.mark.parametrize("reader", [load_checkpoint, read_about])
def test_a_header_that_was_edited(path, reader):
    whole = path.read_bytes()
    assert whole.count(b"gru_lm") == 1
    path.write_bytes(whole.replace(b"gru_lm", b"rnn_lm"))
    refused(path, "its header does not have the checksum", reader=reader)


def test_a_header_as_long_as_the_world(path):
    path.write_bytes(struct.pack("<Q", 2**62) + b"{}")
    refused(path, "damaged or no safetensors file")


class Trap:
    """Unpickling it runs code."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path(__import__('os').environ['TRAP']).touch()",)


@pytest.mark.parametrize("pickled", [pickle.dumps, lambda trap: _torch_saved({"weights": trap})])
def test_a_pickle_is_refused_and_never_run(path, tmp_path, monkeypatch, pickled):
    sprung = tmp_path / "sprung"
    monkeypatch.setenv("TRAP", str(sprung))
    path.write_bytes(pickled(Trap()))
    refused(path, "damaged or no safetensors file")
    refused(path, "damaged or no safetensors file", reader=read_about)
    assert not sprung.exists()


def _torch_saved(thing) -> bytes:
    import io

    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


# ---- written whole or not at all


@pytest.mark.parametrize("where", ["fsync", "replace", "chmod"])
def test_a_failing_write_leaves_the_old_file(path, monkeypatch, where):
    before = path.read_bytes()

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(runtime.os, where, full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"a": torch.zeros(100)}, {})
    assert path.read_bytes() == before
    assert [child.name for child in path.parent.iterdir()] == [path.name]


def test_what_json_cannot_hold_leaves_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_checkpoint(path, {}, {"path": Path("x")})
    assert path.read_bytes() == before


def test_the_header_is_plain_json(path):
    """Anybody can read it, with three lines of Python."""
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])["__metadata__"]
    assert header["format"] == FORMAT and json.loads(header["about"]) == ABOUT


# ---- into a model


def test_weights_go_into_a_model(make):
    one, other = make(seed=1), make(seed=2)
    put_weights(one, other.state_dict(), path="x")
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    half = {name: tensor.bfloat16() for name, tensor in other.state_dict().items()}
    put_weights(one, half, path="x")  # kept small, used in full
    assert all(torch.equal(p, half[name].float()) for name, p in one.named_parameters())


def misfits():
    return {
        "lacks 1 tensors": lambda weights: weights.pop(min(weights)),
        "holds 1 tensors this system does not know, such as 'new'": lambda weights: weights.update(
            new=torch.ones(1)
        ),
        "Was it built with another configuration?": lambda weights: weights.update(
            {min(weights): torch.ones(7, 7)}
        ),
        "is of type torch.int64": lambda weights: weights.update(
            {min(weights): weights[min(weights)].long()}
        ),
    }


@pytest.mark.parametrize("message", misfits())
def test_weights_that_do_not_fit_change_nothing(make, message):
    model = make(seed=1)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights = make(seed=2).state_dict()
    misfits()[message](weights)
    with pytest.raises(CheckpointError) as caught:
        put_weights(model, weights, path="best.safetensors")
    assert message in str(caught.value) and "best.safetensors" in str(caught.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
