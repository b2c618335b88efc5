"""How a command ends: a full disk, too little memory, and advice that can be typed as it stands."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.cli import endings, main
from course_lib.cli.pins import PROJECT_ROOT


def test_examples_in_docstrings():
    assert doctest.testmod(endings).failed == 0


def failing(error):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried to"),
        RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB."),
    ],
)
def test_too_little_memory_is_said_with_a_way_out(capsys, error):
    assert endings.ended(failing(error)) == 1
    told = capsys.readouterr().err
    assert "There is not enough memory for this." in told and "a smaller --beam" in told


BUGS = [RuntimeError("a bug"), OSError(28, "No space", "x"), OSError(111, "Refused"), ValueError("x")]


@pytest.mark.parametrize("error", BUGS)
def test_a_bug_stays_a_bug(error):
    with pytest.raises(type(error)):
        endings.ended(failing(error))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written(monkeypatch, flush, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    program = f"""
import sys
from course_lib.cli import commands, progress
commands.enter = lambda *_: None
progress.run = lambda args: print("something", flush={flush}) or 0
sys.exit(commands.run_command(["progress"]))
"""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=PROJECT_ROOT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith("\nThe output cannot be written: No space left on device.\n")
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_a_wrong_word_shows_the_usage_of_its_command(capsys):
    with pytest.raises(SystemExit):
        main(["translate", "--beem", "5", "the cat"])
    told = capsys.readouterr().err
    assert told.startswith("usage: python3 -m course_lib translate [-h]") and "--beam N" in told
    assert "translate does not know --beem" in told and "`python3 -m course_lib translate --help`" in told
