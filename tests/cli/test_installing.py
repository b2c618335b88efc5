"""pip watched and understood: its real words, and a small program that speaks them."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from course_lib.cli import installing
from course_lib.cli.installing import Story, Ticker, diagnosis, run_pip
from course_lib.cli.trouble import Trouble

# ---- where it is


def test_the_story_follows_pip_from_the_first_package_to_the_last(tmp_path):
    story = Story(tmp_path)
    assert str(story) == "Fetching packages, 0 so far: asking for packages"
    story.hear("Collecting jupyterlab==4.6.6\n")
    story.hear("  Downloading jupyterlab-4.6.6-py3-none-any.whl (17.3 MB)\n")
    assert str(story) == "Fetching packages, 1 so far: downloading jupyterlab (17.3 MB)"
    story.hear("Processing ./wheels/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl\n")
    assert str(story) == "Fetching packages, 2 so far: found torch"
    story.hear("Requirement already satisfied: numpy==2.4.6 in ./.venv/lib (2.4.6)\n")
    story.hear("WARNING: Location is ignored\n")
    assert str(story) == "Fetching packages, 3 so far: found numpy"
    story.hear("WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken\n")
    assert str(story).endswith("no answer from the package index, trying again")

    def install(name: str) -> None:
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "INSTALLER").write_text("pip\n")

    install("setuptools-65.5.0")  # was there before
    story.hear("Installing collected packages: setuptools, numpy, torch\n")
    assert str(story) == "Installing 1 of 3: setuptools"
    install("setuptools-84.2.1")
    install("numpy-2.4.6")
    assert str(story) == "Installing 3 of 3: torch"
    install("torch-2.13.0")
    assert str(story) == "Installing 3 of 3: torch"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_line_that_changes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    screen, clock = Screen(), iter([0, 5, 65])
    ticker = Ticker(screen, now=lambda: next(clock))
    ticker.show("Fetching packages, 3 so far")
    ticker.show("x" * 100)
    assert "\n" not in screen.getvalue()
    first, second = screen.getvalue().split("\r")[1:]
    assert first.rstrip() == "Fetching packages, 3 so far  0:05"
    assert len(first) == len(second) == 39  # each covers the one before, and none wraps
    ticker.clear()
    assert screen.getvalue().endswith("\r" + " " * 39 + "\r")


def test_a_log_gets_a_line_now_and_then():
    log, now = io.StringIO(), [0.0]
    ticker = Ticker(log, now=lambda: now[0])
    for second in range(40):
        now[0] = float(second)
        ticker.show(f"at {second}")
    ticker.clear()
    assert log.getvalue() == "at 15  0:15\nat 30  0:30\n"


# ---- why it stopped

NO_NETWORK = """\
WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError(\
'<pip._vendor.urllib3.connection.HTTPSConnection object>: Failed to establish a new connection: [Errno -3] \
Temporary failure in name resolution')': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)
ERROR: No matching distribution found for torch==2.13.0"""
NO_ROOM = """\
Installing collected packages: torch
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"""
NO_WHEEL = """\
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: 2.14.0, 2.15.0)
ERROR: No matching distribution found for torch==2.13.0"""
NOT_ALLOWED = """\
ERROR: Could not install packages due to an OSError: [WinError 5] Access is denied: 'torch_python.dll'
Check the permissions."""
OTHER = """\
Collecting numpy==2.4.6
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."""


@pytest.mark.parametrize(
    ("said", "happened", "todo", "shown"),
    [
        (NO_NETWORK, "pip could not reach the package index.", "HTTPS_PROXY", "name resolution"),
        (NO_ROOM, "pip ran out of disk space.", "TMPDIR", "No space left"),
        (NO_WHEEL, "There is no torch==2.13.0 for Python", "Python 3.11 to 3.14", "2.14.0, 2.15.0"),
        (NOT_ALLOWED, "pip was not allowed to write a file.", "Close every JupyterLab", "WinError 5"),
        (OTHER, "pip could not install the packages.", "wait a little", "DO NOT MATCH THE HASHES"),
        ("", "pip could not install the packages.", "wait a little", ""),
    ],
)
def test_what_pip_says_is_turned_into_what_to_do(said, happened, todo, shown):
    trouble = diagnosis(said.splitlines(), "build/setup.log")
    assert trouble.happened.startswith(happened)
    assert todo in trouble.todo and trouble.todo.endswith("The whole story is in build/setup.log.")
    assert shown in trouble.evidence and "Collecting" not in trouble.evidence


# ---- the real thing, with a program in pip's place


def speak(monkeypatch, program: str) -> None:
    monkeypatch.setattr(installing, "PIP", ("-c", program))


def test_pip_is_run_in_the_course_folder_and_its_words_are_kept(place, monkeypatch, capsys):
    speak(
        monkeypatch,
        "import os, sys; print(sys.argv[1:], os.environ['PIP_USER'], os.path.basename(os.getcwd()))",
    )
    run_pip(place, ["torch==2.13.0"])
    kept = place.log.read_text()
    assert kept == "['install', '--progress-bar', 'off', 'torch==2.13.0'] 0 a course\n"
    assert capsys.readouterr().out == ""


def test_a_pip_that_fails_is_trouble_with_its_last_words(place, monkeypatch):
    speak(monkeypatch, f"import sys; print({NO_ROOM!r}); sys.exit(1)")
    with pytest.raises(Trouble, match="ran out of disk space") as caught:
        run_pip(place, [])
    assert "[Errno 28] No space left" in str(caught.value)
    assert str(place.root) not in str(caught.value)


def test_words_in_an_odd_encoding_do_no_harm(place, monkeypatch):
    speak(monkeypatch, r"import sys; sys.stdout.buffer.write(b'Collecting \xff\xfe\n')")
    run_pip(place, [])
    assert "Collecting" in place.log.read_text(encoding="utf-8")


def test_ctrl_c_ends_pip_too(place, monkeypatch):
    speak(monkeypatch, "import time; print('Collecting torch', flush=True); time.sleep(60)")
    ended = []
    monkeypatch.setattr(
        installing, "end", lambda process: (process.kill(), process.wait(), ended.append(process))
    )

    def interrupt(self, line):
        raise KeyboardInterrupt

    monkeypatch.setattr(Story, "hear", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_pip(place, [])
    (process,) = ended
    process.stdout.close()


def test_a_process_that_will_not_go_is_ended():
    import subprocess

    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.PIPE)
    installing.end(process, patience=0.05)
    assert process.returncode is not None and process.stdout.closed


def test_the_clock_ticks_while_pip_is_silent():
    silence = threading.Event()

    def lines():
        yield "first\n"
        silence.wait(5)
        yield "last\n"

    heard = []
    for line in installing.lines_or_ticks(lines(), seconds=0.02):
        heard.append(line)
        if heard.count("") == 2:
            silence.set()
    assert heard[0] == "first\n" and heard[-1] == "last\n" and "" in heard
