"""The command line itself: wrong words, how commands end, what the short ones call, the lab."""

from __future__ import annotations

import doctest
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib.cli import arguments, commands, lab, main, measuring, testing
from course_lib.cli.commands import ended
from course_lib.cli.door import PROJECT_ROOT, Trouble


@pytest.mark.parametrize("module", [arguments, commands, lab, measuring, testing])
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0


# ---- words


def test_no_command_shows_them_all(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in commands.COMMANDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("labb", "invalid choice: 'labb'"),
        ("--fast", "expected a command first: lab, test"),
        ("test --fast", "unrecognized arguments: --fast"),
        ("bench walls", "invalid choice: 'walls'"),
        ("bench explorables --folder there", "unrecognized arguments: --folder there"),
        ("data", "the following arguments are required: WHAT"),
        ("data multi30k --down", "unrecognized arguments: --down"),
        ("train bahdano", "There is no system 'bahdano'. Did you mean bahdanau?"),
        ("train", "expected a system's name; --list shows them all"),
        ("train gru_lm --steps 0", "argument --steps: expected 1 or more, got 0"),
        ("train gru_lm --learning-rate nan", "argument --learning-rate: expected 1e-300 or more, got nan"),
        ("train gru_lm --r-drop -1", "argument --r-drop: expected 0 or more, got -1"),
        ("train gru_lm --seed -1", "argument --seed: expected 0 to 9.22337e+18, got -1"),
        ("train gru_lm --folder ~nosuchuser/x", "~nosuchuser/x: "),
        ("train gru_lm --data .", ". is a folder: say which of its languages, such as --from en --to fr"),
        ("translate --beam 0 x", "argument --beam: expected 1 to 1000, got 0"),
        ("translate --beam x x", "argument --beam: invalid int value: 'x'"),
        ("translate --length-penalty nan x", "argument --length-penalty: expected 0 to 10, got nan"),
        ("translate --layer 0 x", "argument --layer: expected 1 or more, got 0"),
        ("translate --picture look.gif x", "expected a file ending in .png or .svg, got look.gif"),
        ("translate --picture look.png x y", "--picture shows one sentence"),
        ("translate --system x --checkpoint y z", "There is no system 'x'"),
        ("translate --beem 5 x", "unrecognized arguments: --beem"),
        ("evaluate --first 0", "argument --first: expected 1 or more, got 0"),
        ("evaluate --json no/such/folder.json", "there is no folder no/such"),
        ("evaluate --json .", "cannot be written"),
        ("evaluate --json x.json --split all", "--json keeps one split at a time"),
        ("sample --top-k 0", "argument --top-k: expected 1 or more, got 0"),
    ],
)
def test_a_wrong_word_is_answered_by_argparse(monkeypatch, refused, words, told):
    monkeypatch.setattr(commands, "enter", lambda *_: None)
    command = [word for word in words.split()[:1] if word in commands.COMMANDS]
    said = refused(words.split())
    assert told in said and " ".join(["-m course_lib", *command]) in said.splitlines()[0]


@pytest.mark.parametrize("words", [["train", "--list"], ["train", "bahdano"], ["--version"]])
def test_what_needs_no_torch_answers_without_it(words):
    program = f"""
import sys
from course_lib.cli import commands, main
commands.enter = lambda *_: None
try:
    main({words})
except SystemExit:
    pass
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, check=True, capture_output=True)


def test_the_door_opens_as_a_program():
    words = [sys.executable, "-m", "course_lib", "--version"]
    done = subprocess.run(words, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("attention-course ")


# ---- endings


def raising(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (Trouble("The disk is full.", "Make room."), 1, "\nThe disk is full.\nMake room.\n"),
        (KeyboardInterrupt(), 130, "\nStopped.\n"),
        (MemoryError(), 1, "\nThere is not enough memory for this."),
        (
            RuntimeError("[alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you"),
            1,
            "a smaller --beam",
        ),
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
from course_lib.cli.commands import ended
def run():
    for number in range({n}):
        print(number, flush={flush})
    return 0
sys.exit(ended(run))
"""


def test_a_reader_who_goes_away_is_no_error():
    words = [sys.executable, "-c", PRINTING.format(n=100_000, flush=False)]
    child = subprocess.Popen(words, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()
    with child.stderr:
        assert (child.wait(30), child.stderr.read()) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
@pytest.mark.parametrize("flush", [True, False])
def test_output_that_cannot_be_written(flush):
    words = [sys.executable, "-c", PRINTING.format(n=1, flush=flush)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, cwd=PROJECT_ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("\nThe output cannot be used: No space left on device.\n")
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


# ---- the short commands


def test_thin_commands_call_what_does_the_work(monkeypatch, no_set_up, capsys):
    built = []
    monkeypatch.setattr(
        "course_lib.authoring.build.build_all", lambda lessons, check: built.append((lessons, check)) or 3
    )
    assert main(["build", "08", "00", "--check"]) == 3
    assert built == [(["08", "00"], True)]
    monkeypatch.setattr("course_lib.bench.explorables.run", lambda: 4)
    assert main(["bench", "explorables"]) == 4
    monkeypatch.setattr("course_lib.bench.text.run", lambda folder: {None: 5, Path("there"): 6}[folder])
    assert main(["bench", "text"]) == 5 and main(["bench", "text", "--folder", "there"]) == 6
    assert main(["progress"]) == 0
    said = capsys.readouterr().out
    assert "Your progress" in said and "Your own functions: none yet." in said
    assert main(["progress", "--delete"]) == 0 and "no progress to delete" in capsys.readouterr().out


def test_course_lib_without_its_folder_says_where_it_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(commands, "PROJECT_ROOT", tmp_path)
    assert main(["lab"]) == 1
    assert "is not the whole course" in capsys.readouterr().err


def test_ci_calls_the_command_of_the_readme():
    script = PROJECT_ROOT / ".ci" / "run"
    assert "python3 -m course_lib test" in script.read_text(encoding="utf-8")
    assert "python3 -m course_lib test" in (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    if sys.platform != "win32":
        assert script.stat().st_mode & 0o111


# ---- the lab


def test_further_arguments_reach_the_lab_untouched(monkeypatch, no_set_up):
    seen = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", seen.append)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    further = ["--port", "9000", "--ServerApp.x=1", "notebooks/08.ipynb"]
    assert main(["lab", "--no-browser", *further]) == 0
    assert seen[0][-5:] == ["--no-browser", *further]


def test_it_listens_here_only_and_opens_the_first_lesson():
    told = lab.arguments([])
    assert "--ServerApp.ip=127.0.0.1" in told and f"--ServerApp.root_dir={PROJECT_ROOT}" in told
    assert f"--LabApp.default_url=/lab/tree/{lab.FIRST_LESSON}" in told
    assert not any("token" in word or "password" in word for word in told)  # JupyterLab makes a random one


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        (["--ip=0.0.0.0"], "ServerApp.ip"),
        (["--ip", "0.0.0.0"], "ServerApp.ip"),
        (["--ServerApp.ip=::1"], "ServerApp.ip=127"),
        (["--notebook-dir=/somewhere"], "root_dir"),
        (["--notebook-dir=/somewhere"], "default_url"),
    ],
)
def test_what_somebody_asks_for_replaces_ours(given, ours):
    told = lab.arguments(given)
    assert told[-len(given) :] == given and not any(ours in word for word in told)


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_in_a_container_root_may(monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in lab.arguments([])) == allowed


def test_kernels_find_the_library_and_keep_what_was_set(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    told = lab.environment()
    assert told["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "mine"]
    assert told["JUPYTER_CONFIG_PATH"] == str(lab.SETTINGS)


@pytest.mark.slow
def test_a_real_lab_has_the_token_and_the_settings(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTER_TOKEN": "sesame"}  # where no token is given JupyterLab makes one; this names it
    words = ["-m", "course_lib", "lab", "--no-browser", f"--port={port}", "--port-retries=0"]
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen(
        [sys.executable, *words],
        cwd=PROJECT_ROOT,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )

    def get(path: str, token: str = "sesame") -> dict:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
        request.add_header("Authorization", f"token {token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    try:
        for _ in range(300):
            try:
                get("/api/status")
                break
            except urllib.error.URLError:
                assert server.poll() is None, Path(log.name).read_text()
                time.sleep(0.2)
        settings = get("/lab/api/settings")["settings"]
        listed = {entry["id"]: entry["schema"].get("properties", {}) for entry in settings}
        kernels = listed["@jupyterlab/apputils-extension:kernels-settings"]
        assert kernels["commsOverSubshells"]["default"] == "disabled"
        news = listed["@jupyterlab/apputils-extension:notification"]
        assert (news["fetchNews"]["default"], news["checkForUpdates"]["default"]) == ("false", False)
        assert "pyproject.toml" in {entry["name"] for entry in get("/api/contents")["content"]}
        with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
            get("/api/contents", token="guess")
        refusal.value.close()
    finally:
        server.terminate()
        assert server.wait(20) == (0 if sys.platform != "win32" else 1)
        log.close()
