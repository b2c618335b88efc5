"""Which weights a command takes: found by file, run or name, and a way out where they cannot be used."""

from __future__ import annotations

import os
import sys

import pytest
import torch

from course_lib.cli import checkpoints, device, main
from course_lib.cli.trouble import Trouble

pytestmark = pytest.mark.usefixtures("no_set_up")


def refused(path, device="cpu") -> str:
    with pytest.raises(Trouble) as caught:
        checkpoints.open_translator(checkpoints.find(str(path), None), device=device)
    return str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "none.safetensors"
    assert refused(path) == (
        f"There is no file {path}.\nA run's folder will do as well. {checkpoints.OF_THE_COURSE}"
    )
    assert refused("bahdanau").endswith("--system bahdanau takes the weights that come with the course.")


def test_a_folder_without_best_weights(tmp_path):
    folder = tmp_path / "x.safetensors"
    folder.mkdir()
    assert f"{folder} is a folder, but not of a run: it holds no best.safetensors." in refused(folder)
    (folder / "last.safetensors").write_bytes(b"")
    told = refused(folder)
    assert "stopped before its first look at the validation set" in told and "Go on with it" in told


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
def test_what_is_no_ordinary_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", tmp_path / "pipe"):
        assert f"{path} is no ordinary file" in refused(path)


def test_a_file_that_may_not_be_read(checkpoint, monkeypatch):
    path = checkpoint("rctm")

    def denied(*_):
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert refused(path).startswith(f"{path} cannot be read: Permission denied.\n")


def test_a_damaged_file(tmp_path, monkeypatch):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"PK something else")
    assert "damaged" in refused(broken) and refused(broken).endswith(checkpoints.OF_THE_COURSE)
    monkeypatch.setattr(checkpoints, "SHIPPED", tmp_path)
    assert refused(broken).endswith("`git checkout -- data/checkpoints` brings it back.")


def test_files_that_do_not_translate(checkpoint):
    assert "gru_lm. That is a language model, and does not translate." in refused(checkpoint("gru_lm"))
    last = checkpoint("bahdanau", file="last.safetensors", standing={"step": 3})
    assert refused(last).endswith(f"Its best weights are beside it: {last.with_name('best.safetensors')}")


@pytest.mark.parametrize("path", ["~nosuchuser/x", "a" * 300, ""])
def test_paths_that_cannot_be(path, capsys):
    assert main(["translate", "--checkpoint", path, "the cat"]) == 1
    assert capsys.readouterr().err.startswith("\n")


@pytest.mark.parametrize("name", ["", "a" * 300, "../checkpoints/transformer"])
def test_names_that_are_none(name):
    with pytest.raises(Trouble, match="There is no system"):
        checkpoints.find(None, name)


# ---- the device


def test_the_device_that_was_asked_for(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    assert device.find_device(None) == device.find_device("cpu") == torch.device("cpu")
    monkeypatch.delenv("COURSE_DEVICE")
    assert device.find_device(None).type in ("cpu", "cuda")


@pytest.mark.parametrize("name", ["foo", "meta", "cuda:99"])
def test_a_device_that_is_not_there_and_who_asked_for_it(monkeypatch, name):
    with pytest.raises(Trouble) as caught:
        device.find_device(name)
    assert str(caught.value).startswith(f"--device {name} cannot be used here: ")
    assert caught.value.todo == "Try --device cpu."
    monkeypatch.setenv("COURSE_DEVICE", name)
    with pytest.raises(Trouble) as caught:
        device.find_device(None)
    assert str(caught.value).startswith(f"COURSE_DEVICE={name} cannot be used here: ")
    assert caught.value.todo == "Try COURSE_DEVICE=cpu, or unset it."


def test_the_flag_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "foo")
    assert device.find_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("command", [["translate", "the cat"], ["evaluate", "--first", "1"]])
def test_a_wrong_device_is_no_traceback(monkeypatch, capsys, command):
    monkeypatch.setenv("COURSE_DEVICE", "meta")
    assert main(command) == 1
    assert "COURSE_DEVICE=meta cannot be used here" in capsys.readouterr().err
