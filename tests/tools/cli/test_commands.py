"""The command line itself: wrong words, how commands end, what needs no torch, the lab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises.catalogue import load_exercises
from tests.browser.lab import lab_server
from tools.cli import main
from tools.cli.commands import ended
from tools.cli.environment import PROJECT_ROOT, CommandError

COMMANDS = ("lab", "test", "build", "data", "train", "translate", "sample", "evaluate", "experiment")
COMMANDS += ("progress", "bench")


# ---- words


def test_no_command_shows_them_all(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("labb", "invalid choice: 'labb'"),
        ("--fast", "the following arguments are required: COMMAND"),
        ("test --fast", "unrecognized arguments: --fast"),
        ("bench walls", "invalid choice: 'walls'"),
        ("data", "the following arguments are required: WHAT"),
        ("train bahdano", "There is no system 'bahdano'. Did you mean bahdanau?"),
        ("train", "expected a system's name; --list shows them all"),
        ("train gru_lm --seed -1", "argument --seed: expected a whole number from 0 to 4,294,967,295"),
        ("sample --seed 4294967296", "argument --seed: expected a whole number from 0 to 4,294,967,295"),
        ("train gru_lm --steps 0", "argument --steps: expected 1 or more, got 0"),
        ("train gru_lm --learning-rate nan", "argument --learning-rate: expected 1e-09 or more, got nan"),
        ("train gru_lm --r-drop -1", "argument --r-drop: expected 0.0 or more, got -1"),
        ("experiment positions --seeds -1", "argument --seeds: expected a whole number from 0"),
        ("experiment positions --steps 0", "argument --steps: expected 1 or more, got 0"),
        ("experiment positions --at-a-time 0", "argument --at-a-time: expected 1 or more, got 0"),
        ("translate --beam 0 x", "argument --beam: expected 1 to 1,000, got 0"),
        ("translate --length-penalty nan x", "argument --length-penalty: expected 0.0 to 10.0, got nan"),
        ("translate --checkpoint x --system bahdanau y", "not allowed with argument --checkpoint"),
    ],
)
def test_a_wrong_word_is_answered_by_argparse(no_set_up, capsys, words, told):
    with pytest.raises(SystemExit) as left:
        main(words.split())
    said = capsys.readouterr().err
    command = [word for word in words.split()[:1] if word in COMMANDS]
    assert left.value.code == 2 and told in said
    assert " ".join(["-m course_lib", *command]) in said.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["progress"], "on this machine only"),
        (["train", "--list"], "bahdanau"),
        (["train", "bahdano"], "Did you mean bahdanau?"),
        (["--version"], "attention-course"),
    ],
)
def test_what_needs_no_torch_answers_without_it(words, told):
    program = f"""
import sys
from tools.cli import main
try:
    main({words})
finally:
    heavy = [name for name in ("torch", "numpy", "matplotlib") if name in sys.modules]
    print("loaded:", heavy)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert "loaded: []" in done.stdout and told in done.stdout + done.stderr


def test_the_exercises_of_the_report_are_those_that_are_checked():
    for one in lessons():
        assert set(one.exercises) == set(load_exercises(one.topic))


# ---- endings


def raising(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (CommandError("The disk is full.", "Make room."), 1, "\nThe disk is full.\nMake room.\n"),
        (KeyboardInterrupt(), 130, "\nStopped.\n"),
        (MemoryError(), 1, "\nThere is not enough memory for this."),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to"), 1, "a smaller --beam"),
        (RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB."), 1, "a smaller --beam"),
        (OSError(28, "No space left on device", "x.json"), 1, "x.json cannot be used: No space left"),
        (PermissionError(13, "Permission denied", ".venv"), 1, ".venv cannot be used: Permission denied."),
    ],
)
def test_what_is_nobodys_bug_is_said_without_a_traceback(capsys, error, code, told):
    assert ended(raising(error)) == code
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError(111, "Refused"), ValueError("x")])
def test_a_bug_stays_a_bug(error):
    with pytest.raises(type(error)):
        ended(raising(error))


PRINTING = """
import sys
from tools.cli.commands import ended
def run():
    for number in range({n}):
        print(number)
    return 0
sys.exit(ended(run))
"""


def test_a_reader_who_goes_away_is_no_error():
    words = [sys.executable, "-c", PRINTING.format(n=100_000)]
    child = subprocess.Popen(words, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()
    with child.stderr:
        assert (child.wait(30), child.stderr.read()) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
def test_output_that_cannot_be_written():
    words = [sys.executable, "-c", PRINTING.format(n=1)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, cwd=PROJECT_ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("\nThe output cannot be used: No space left on device.\n")
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


# ---- the short commands


def test_thin_commands_call_what_does_the_work(monkeypatch, no_set_up, capsys):
    called = []
    monkeypatch.setattr("tools.authoring.build.build_all", lambda *asked: called.append(asked) or 3)
    monkeypatch.setattr("tools.bench.explorables.run", lambda: called.append("explorables"))
    monkeypatch.setattr("tools.bench.decoding.run", lambda device: called.append(device.type))
    assert main(["build", "08", "00", "--check"]) == 3
    stopped = raising(subprocess.CalledProcessError(3, "train"))
    monkeypatch.setattr("tools.bench.clock.run", stopped)
    assert main(["bench", "clock"]) == 3
    assert main(["bench", "explorables"]) == main(["bench", "decoding", "--device", "cpu"]) == 0
    assert called == [(["08", "00"], True), "explorables", "cpu"]
    assert main(["progress", "--delete"]) == 0 and "no progress to delete" in capsys.readouterr().out


def test_ci_calls_the_command_of_the_readme():
    script = PROJECT_ROOT / ".ci" / "run"
    for path in (script, PROJECT_ROOT / "README.md"):
        assert "python3 -m course_lib test" in path.read_text(encoding="utf-8")
    assert sys.platform == "win32" or script.stat().st_mode & 0o111


# ---- the lab


def test_further_arguments_reach_the_lab_untouched(monkeypatch, no_set_up, tmp_path):
    seen = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", seen.append)
    monkeypatch.setattr(os, "environ", os.environ | {"PYTHONPATH": "mine"})
    monkeypatch.chdir(tmp_path)
    further = ["--port", "9000", "--ServerApp.x=1", "notebooks/08.ipynb"]
    assert main(["lab", "--no-browser", *further]) == 0
    assert seen == [["--no-browser", *further]] and Path.cwd() == PROJECT_ROOT
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "mine"]


@pytest.mark.slow
def test_a_real_lab_has_our_settings_and_asks_for_its_token():
    """And opens on the first lesson; it listens on this computer only, as JupyterLab does by itself."""
    with lab_server(PROJECT_ROOT) as server:

        def get(path: str, token: str = server.token) -> bytes:
            request = urllib.request.Request(server.url + path, headers={"Authorization": f"token {token}"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert path != "/" or answer.url.endswith("/lab/tree/notebooks/00_start_here.ipynb")
                return answer.read()

        settings = json.loads(get("/lab/api/settings"))["settings"]
        listed = {entry["id"]: entry["schema"].get("properties", {}) for entry in settings}
        kernels = listed["@jupyterlab/apputils-extension:kernels-settings"]
        assert kernels["commsOverSubshells"]["default"] == "disabled"
        news = listed["@jupyterlab/apputils-extension:notification"]
        assert (news["fetchNews"]["default"], news["checkForUpdates"]["default"]) == ("false", False)
        get("/")
        with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
            get("/api/contents", token="guess")
        refusal.value.close()
