"""Paths, seeds, the device and the environment variables."""

from __future__ import annotations

import errno
import os
import random
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib import runtime


def test_data_path_finds_a_file_and_names_a_missing_one(tmp_path, monkeypatch):
    assert (runtime.PROJECT_ROOT / "course_lib" / "runtime.py").samefile(runtime.__file__)
    monkeypatch.setattr(runtime, "PROJECT_ROOT", tmp_path)
    (tmp_path / "data" / "toy").mkdir(parents=True)
    assert runtime.data_path("toy") == tmp_path / "data" / "toy"
    with pytest.raises(FileNotFoundError, match="git checkout -- data") as caught:
        runtime.data_path("toy", "gone.json")
    assert str(Path("data", "toy", "gone.json")) in str(caught.value)
    assert str(tmp_path) not in str(caught.value)  # no absolute path in a stored notebook


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.local/share/attention-course"),
        ("linux", {"XDG_DATA_HOME": ""}, "~/.local/share/attention-course"),
        ("linux", {"XDG_DATA_HOME": "/elsewhere"}, "/elsewhere/attention-course"),
        ("darwin", {}, "~/Library/Application Support/attention-course"),
        ("win32", {}, "~/AppData/Local/attention-course"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/attention-course"),
        ("linux", {"COURSE_HOME": "/mine"}, "/mine"),
        ("linux", {"COURSE_HOME": "~/course"}, "~/course"),
        ("linux", {"COURSE_HOME": "mine"}, runtime.PROJECT_ROOT / "mine"),  # wherever the process runs
        ("linux", {"XDG_DATA_HOME": "mine"}, runtime.PROJECT_ROOT / "mine" / "attention-course"),
    ],
)
def test_the_user_folder_follows_the_convention_of_the_system(
    monkeypatch, tmp_path, platform, variables, expected
):
    monkeypatch.chdir(tmp_path)
    for name in ("COURSE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert runtime.user_folder() == Path(expected).expanduser()


def test_asking_for_the_user_folder_does_not_make_it(course_home):
    assert not runtime.user_folder().exists()


@pytest.fixture(params=[0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("content", ["naïve → 雪\n", b"\x00\xff\r\n"])
def test_a_file_is_written_completely_with_the_usual_permissions(tmp_path, content, umask):
    path = tmp_path / "new" / "folder" / "file"
    runtime.write_atomically(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode("utf-8"))
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    runtime.write_json(path, {"word": "eau", "sign": "é", "numbers": [1, 2.5]})
    text = path.read_text(encoding="utf-8")  # readable for people too
    assert '"é"' in text and text.endswith("}\n") and text.count("\n") == 8
    assert [file.name for file in path.parent.iterdir()] == ["file"]  # nothing left beside it


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_file_that_exists_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    runtime.write_atomically(path, "new")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(sys.platform == "win32", reason="links need a special right on Windows")
@pytest.mark.parametrize("old", ["old", None])  # None: the link leads to a file in a folder that don't exist
def test_a_link_stays_and_its_target_is_written(tmp_path, old):
    target, second, link = tmp_path / "elsewhere" / "target", tmp_path / "second", tmp_path / "here" / "link"
    link.parent.mkdir()
    second.symlink_to(target)
    link.symlink_to(Path("..", "second"))
    if old:
        target.parent.mkdir()
        target.write_text(old)
        target.chmod(0o600)
    runtime.write_atomically(link, "new")
    assert link.is_symlink() and second.is_symlink() and not target.is_symlink()
    assert target.read_text() == link.read_text() == "new"
    assert not old or stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [*link.parent.iterdir(), *target.parent.iterdir()] == [link, target]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes of this kind")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    runtime.write_atomically(pipe, "new")
    assert os.read(reader, 9) == b"new" and pipe.is_fifo()
    os.close(reader)
    with pytest.raises(IsADirectoryError):
        runtime.write_atomically(tmp_path, "new")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a second user")
def test_a_folder_that_may_be_written_but_not_read_accepts_a_file(tmp_path):
    """Such as the one in which learners leave their exports for the instructor."""
    box = tmp_path / "box"
    box.mkdir()
    box.chmod(0o1733)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            runtime.write_atomically(box / "file", "content")
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (box / "file").read_text() == "content"


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


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path, monkeypatch):
    def fail(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    for method in ("open", "unlink"):
        monkeypatch.setattr(Path, method, fail)
    with pytest.raises(PermissionError) as caught:
        runtime.write_atomically(tmp_path / "file", "new")
    assert caught.value.filename == str(tmp_path / "file")


def test_the_same_seed_gives_the_same_numbers_everywhere():
    def draws(seed):
        generator = runtime.seed_everything(seed)
        own = torch.rand(1, generator=generator).item()  # independent of torch's global generator
        return random.random(), float(np.random.random()), torch.rand(1).item(), own

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        assert draws(7) == draws(7)
        assert all(a != b for a, b in zip(draws(7), draws(8), strict=True))
    finally:  # restore the shared generators
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


@pytest.mark.parametrize(
    ("chosen", "available", "device"),
    [(None, True, "cuda"), (None, False, "cpu"), ("cuda:1", False, "cuda:1"), ("gpu", True, None)],
)
def test_a_gpu_is_used_if_there_is_one_unless_a_device_is_chosen(monkeypatch, chosen, available, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    if chosen:
        monkeypatch.setenv("COURSE_DEVICE", chosen)
    if device:
        assert runtime.device() == torch.device(device)
    else:
        with pytest.raises(ValueError, match=r"COURSE_DEVICE is 'gpu'.*Try cpu, cuda or mps"):
            runtime.device()


@pytest.mark.parametrize("value", ["1", " True ", "yes", "ON", "0", "", "off"])
def test_a_switch_is_read_at_every_call(monkeypatch, value):
    assert not runtime.switched_on("COURSE_OPEN")
    monkeypatch.setenv("COURSE_OPEN", value)
    assert runtime.switched_on("COURSE_OPEN") is (value in ("1", " True ", "yes", "ON"))
