"""Every argument of every command with hostile values: one message each, never a traceback or a hang."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from functools import cache

import pytest

from tools.cli import commands, main

pytestmark = pytest.mark.usefixtures("no_set_up")
LONG = "x" * 300
TEXTS = ("", LONG, "a\nb", "a\0b", "\udcff", "é\ud800")
NUMBERS = ("", "9" * 30, "9" * 5000, "1e400", "nan", "-1", "0")
PATHS = ("folder", "file", "binary", "missing", "fifo", "loop", "/dev/zero", "/sys/x", "file/x")
DEVICES = ("", "meta", "xla", "cuda:99", "mtia", "privateuseone", "abacus", "cpu:-1")
COMMANDS = {  # what comes before the hostile argument, and what replaces a required one
    "train": ["--scale", "tiny", "--device", "cpu", "--folder", "out", "--restart", "--steps", "1"],
    "translate": ["--device", "cpu", "--checkpoint", "system.safetensors", "the cat"],
    "sample": ["--device", "cpu", "--checkpoint", "model.safetensors"],
    "evaluate": ["--device", "cpu", "--checkpoint", "system.safetensors", "--data", "file", "--first", "2"],
    "experiment": ["positions"],
    "data show": [],
    "data multi30k": [],
    "progress": [],
    "kit": ["--out", "a kit"],
    "agenda": ["--hours", "1.5", "--lessons", "00"],
    "bench training": [],
}


def arguments(name: str) -> list[argparse.Action]:
    """The arguments of a command that take a value."""
    parser = commands.parser()
    for word in name.split():
        (subcommands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = subcommands.choices[word]
    return [action for action in parser._actions if action.nargs != 0]


def values_for(action: argparse.Action) -> tuple[str, ...]:
    """The values worth trying."""
    if action.dest == "device":
        return DEVICES
    name = getattr(action.type, "__name__", "")
    return NUMBERS if name in ("int", "float", "seed", "above_zero") else TEXTS + PATHS


@pytest.fixture
def hostile_folder(monkeypatch, tmp_path, checkpoint, tiny_data):
    """A folder with files of every kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_BAR", "0")
    monkeypatch.setattr(commands, "parser", cache(commands.parser))  # it takes most of the time
    monkeypatch.setattr("tools.corpora.toy_data", lambda: tiny_data)
    monkeypatch.setattr("tools.experiments.runner.run", lambda *_, **__: 0)
    monkeypatch.setattr("tools.bench.training.run", lambda device: None)
    monkeypatch.setattr("tools.cli.offline_kit.export_course", lambda folder: folder.mkdir(parents=True))
    monkeypatch.setattr("tools.cli.offline_kit.download_wheels", lambda *_: None)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("the cat\tle chat\n" * 30, encoding="utf-8")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "fifo").touch() if sys.platform == "win32" else os.mkfifo(tmp_path / "fifo")
    for file, name in (("system.safetensors", "bahdanau"), ("model.safetensors", "gru_lm")):
        (tmp_path / file).write_bytes(checkpoint(name).read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_hostile_value_is_an_error_and_not_a_crash(hostile_folder, monkeypatch, capfd, name):
    system = ["gru_lm"] if name == "train" else []
    for action in arguments(name):
        for value in values_for(action):
            values = [value] * (action.nargs if isinstance(action.nargs, int) else 1)
            words = [*name.split(), *COMMANDS[name]]
            words += [*system, action.option_strings[0], *values] if action.option_strings else values
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
            try:
                code = main(words)
            except SystemExit as stopped:
                code = stopped.code
            assert code in (0, 1, 2), words
            err = capfd.readouterr().err
            assert "Traceback" not in err and (code == 0 or err.strip() or name == "data multi30k"), words


@pytest.mark.parametrize("words", ["train gru_lm --folder", "evaluate --json", "translate --checkpoint"])
@pytest.mark.parametrize("value", ["run \udcff", "a\0b", "", "é\ud800"])
def test_a_name_that_no_checkpoint_can_have_is_rejected_at_once(capsys, words, value):
    """A byte that isn't UTF-8 arrives as a lone surrogate; a run in such a folder could never be loaded."""
    with pytest.raises(SystemExit) as stopped:
        main([*words.split(), value])
    assert stopped.value.code == 2 and repr(value) in capsys.readouterr().err


@pytest.mark.parametrize("device", ["meta", "privateuseone", "xla", "cuda:99", "abacus", ""])
def test_a_device_that_cannot_compute_is_named_in_one_sentence(capsys, device):
    assert main(["translate", "--device", device, "the cat"]) == 1
    first, second = capsys.readouterr().err.strip().splitlines()
    assert repr(device) in first and "--device cpu" in second


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
@pytest.mark.parametrize("name", ["fifo", "/dev/zero"])
def test_a_pipe_or_a_device_is_no_corpus_and_no_checkpoint(hostile_folder, capsys, name):
    assert main(["train", "gru_lm", "--device", "cpu", "--data", name]) == 1
    assert main(["evaluate", "--device", "cpu", "--checkpoint", "system.safetensors", "--data", name]) == 1
    assert main(["translate", "--device", "cpu", "--checkpoint", name, "the cat"]) == 1
    assert capsys.readouterr().err.count(name) == 3


# ---- system errors


def test_every_system_error_about_a_file_is_explained(capsys):
    def failing(number: int):
        raise OSError(number, os.strerror(number), "some/file")

    no_error = {errno.EPIPE, errno.ESHUTDOWN}  # the reader of our output has gone
    for number in errno.errorcode.keys() - no_error - {errno.ENOMEM}:
        assert commands.exit_code(lambda number=number: failing(number)) == 1
        err = capsys.readouterr().err
        assert "some/file" in err and os.strerror(number) in err


@pytest.mark.parametrize("argument", ["--folder", "--data"])
def test_a_name_that_is_too_long_or_a_file_is_not_about_permissions(hostile_folder, capsys, argument):
    words = ["train", "gru_lm", "--scale", "tiny", "--device", "cpu", "--steps", "1"]
    assert main([*words, argument, LONG]) == 1
    err = capsys.readouterr().err
    assert LONG in err and "shorter" in err and "permissions" not in err
    assert main([*words, argument, "file/x"]) == 1
    assert "permissions" not in capsys.readouterr().err


def test_a_missing_file_of_the_course_is_explained(monkeypatch, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    monkeypatch.setattr("course_lib.runtime.PROJECT_ROOT", tmp_path)
    from course_lib.runtime import data_path

    assert commands.exit_code(lambda: len(str(data_path("toy")))) == 1
    assert "git checkout -- data" in capsys.readouterr().err
