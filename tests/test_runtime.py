"""Paths, seeds, the device and the switches."""

from __future__ import annotations

import os
import random
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib import runtime

# ---- paths


def test_the_project_root_holds_the_library():
    assert (runtime.PROJECT_ROOT / "course_lib" / "runtime.py").samefile(runtime.__file__)


def test_data_path_finds_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "PROJECT_ROOT", tmp_path)
    (tmp_path / "data" / "toy").mkdir(parents=True)
    (tmp_path / "data" / "toy" / "here.json").write_text("{}")
    assert runtime.data_path("toy", "here.json") == tmp_path / "data" / "toy" / "here.json"
    assert runtime.data_path("toy").is_dir()


def test_data_path_says_what_is_missing_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "PROJECT_ROOT", tmp_path)
    with pytest.raises(FileNotFoundError, match="git checkout -- data") as caught:
        runtime.data_path("toy", "gone.json")
    assert str(Path("data", "toy", "gone.json")) in str(caught.value)
    assert str(tmp_path) not in str(caught.value)  # no absolute path in a stored notebook


def test_the_course_home_is_the_learners_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    assert runtime.user_folder() == tmp_path
    monkeypatch.setenv("COURSE_HOME", "~/course")
    assert runtime.user_folder() == Path.home() / "course"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.local/share/attention-course"),
        ("linux", {"XDG_DATA_HOME": ""}, "~/.local/share/attention-course"),
        ("linux", {"XDG_DATA_HOME": "/elsewhere"}, "/elsewhere/attention-course"),
        ("darwin", {}, "~/Library/Application Support/attention-course"),
        ("win32", {}, "~/AppData/Local/attention-course"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/attention-course"),
    ],
)
def test_the_user_folder_is_where_the_system_keeps_such_things(monkeypatch, platform, variables, expected):
    for name in ("COURSE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert runtime.user_folder() == Path(expected).expanduser()


def test_asking_for_the_user_folder_does_not_make_it(course_home):
    assert not runtime.user_folder().exists()


# ---- files written whole or not at all


@pytest.mark.parametrize("content", ["naïve → 雪\n", b"\x00\xff\r\n"])
def test_a_file_is_written_to_the_byte(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    runtime.write_atomically(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode("utf-8"))
    runtime.write_atomically(path, "again")
    assert path.read_text() == "again"
    assert [file.name for file in path.parent.iterdir()] == ["file"]  # nothing left beside it


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="no space"):
        runtime.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_written_file_can_be_read_by_others(tmp_path):
    runtime.write_atomically(tmp_path / "file", "text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


# ---- seeds and the device


@pytest.fixture
def random_state():
    """What a test does to the shared generators stays in the test."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def test_the_same_seed_gives_the_same_numbers_everywhere(random_state):
    def draws(seed):
        generator = runtime.seed_everything(seed)
        return (
            random.random(),
            float(np.random.random()),
            torch.rand(1).item(),
            torch.rand(1, generator=generator).item(),
        )

    first, again, other = draws(7), draws(7), draws(8)
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_the_generator_stands_apart_from_torchs_own(random_state):
    generator = runtime.seed_everything(7)
    torch.rand(100)
    assert torch.rand(1, generator=generator) == torch.rand(1, generator=runtime.seed_everything(7))


@pytest.mark.parametrize(("available", "kind"), [(True, "cuda"), (False, "cpu")])
def test_a_gpu_is_used_where_there_is_one(monkeypatch, available, kind):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert runtime.device() == torch.device(kind)


def test_the_device_can_be_forced(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda:1")
    assert runtime.device() == torch.device("cuda", 1)


def test_an_unknown_device_is_named_with_what_to_try(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "gpu")
    with pytest.raises(ValueError, match=r"COURSE_DEVICE is 'gpu'.*Try cpu, cuda or mps"):
        runtime.device()


# ---- switches


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), (" True ", True), ("yes", True), ("ON", True), ("0", False), ("", False), ("off", False)],
)
def test_a_switch_is_read_when_asked_for(monkeypatch, value, on):
    assert not runtime.switched_on("COURSE_OPEN")
    monkeypatch.setenv("COURSE_OPEN", value)
    assert runtime.switched_on("COURSE_OPEN") is on


def test_json_is_for_people_too(tmp_path):
    runtime.write_json(tmp_path / "results" / "one.json", {"word": "eau", "sign": "é", "numbers": [1, 2.5]})
    text = (tmp_path / "results" / "one.json").read_text(encoding="utf-8")
    assert '"é"' in text and text.endswith("}\n") and text.count("\n") == 8
