"""The command line itself: wrong arguments, exit codes, commands that need no torch, the lab."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises.catalogue import load_exercises
from tests.browser.lab import lab_server
from tools.cli import commands, main
from tools.cli.commands import exit_code
from tools.cli.environment import PROJECT_ROOT, CommandError

COMMANDS = ("lab", "test", "build", "data", "train", "translate", "sample", "evaluate", "experiment")
COMMANDS += ("progress", "agenda", "bench", "kit", "packages")


# ---- arguments


@pytest.mark.parametrize("words", ["", "--help", "--help --all"])
def test_the_help_names_every_command_and_is_one_screen_unless_asked_for_all(words, capsys):
    assert main(words.split()) == (0 if words else 2)
    help_text = capsys.readouterr().out
    assert set(COMMANDS) <= set(re.findall(r"\b[a-z]+\b", help_text))
    assert (help_text.count("\n") <= 24) == ("--all" not in words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("labb", "invalid choice: 'labb'"),
        ("--fast", "the following arguments are required: COMMAND"),
        ("test --fast", "unrecognized arguments: --fast"),
        ("bench walls", "invalid choice: 'walls'"),
        ("data", "the following arguments are required: WHAT"),
        ("train bahdano", "'bahdano'"),
        ("train", "--list"),
        ("train gru_lm --all", "--list"),
        ("train gru_lm --seed -1", "argument --seed: "),
        ("sample --seed 4294967296", "argument --seed: "),
        ("train gru_lm --steps 0", "argument --steps: "),
        ("train gru_lm --learning-rate nan", "argument --learning-rate: "),
        ("train gru_lm --learning-rate inf", "argument --learning-rate: "),
        ("train gru_lm --learning-rate -1", "above 0"),
        (f"train gru_lm --steps {10**18}", "argument --steps: "),
        (f"train gru_lm --tokens-per-batch {10**18}", "argument --tokens-per-batch: "),
        ("train gru_lm --multi30k x", "--data multi30k"),
        ("train ngram_lm --r-drop 1", "--r-drop"),
        ("train ngram_lm --steps 5", "--steps"),
        ("train ngram_lm --quick", "--quick"),
        ("evaluate --system gru_lm --multi30k x", "--data multi30k"),
        (f"experiment positions --steps {10**18}", "argument --steps: "),
        (f"experiment positions --at-a-time {10**9}", "argument --at-a-time: "),
        (f"sample --n {10**9}", "argument --n: "),
        (f"data show --n {10**18}", "argument --n: "),
        ("train gru_lm --r-drop -1", "argument --r-drop: "),
        ("experiment positions --seeds -1", "argument --seeds: "),
        ("experiment positions --steps 0", "argument --steps: "),
        ("experiment positions --at-a-time 0", "argument --at-a-time: "),
        ("translate --beam 0 x", "argument --beam: "),
        ("translate --length-penalty nan x", "argument --length-penalty: "),
        ("translate --checkpoint x --system bahdanau y", "not allowed with argument --checkpoint"),
        ("translate --checkpoint x --system transformer y", "not allowed with argument --checkpoint"),
        ("sample --system transformer_lm --checkpoint x", "not allowed with argument --system"),
        ("evaluate --checkpoint x --system transformer", "not allowed with argument --checkpoint"),
    ],
)
def test_argparse_rejects_a_wrong_argument(no_set_up, capsys, words, message):
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    err = capsys.readouterr().err
    command = [word for word in words.split()[:1] if word in COMMANDS]
    assert stopped.value.code == 2 and message in err
    assert " ".join(["-m course_lib", *command]) in err.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["progress"], "Your own functions"),
        (["train", "--list"], "bahdanau"),
        (["train", "bahdano"], "bahdanau?"),
        (["--version"], "attention-course"),
    ],
)
def test_commands_that_need_no_torch_do_not_import_it(words, answer):
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
    assert "loaded: []" in done.stdout and answer in done.stdout + done.stderr


def test_the_progress_report_lists_exactly_the_exercises_that_are_checked():
    for lesson in lessons():
        assert set(lesson.exercises) == set(load_exercises(lesson.topic)) - {"double_it"}  # of the tests


# ---- exit codes


def raising(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "parts"),
    [
        (CommandError("The disk is full.", "Make room."), 1, ["\nThe disk is full.\nMake room.\n"]),
        (MemoryError(), 1, ["memory", "--beam"]),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to"), 1, ["--beam"]),
        (RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB."), 1, ["--beam"]),
        (OSError(28, "No space left on device", "x.json"), 1, ["x.json", "No space left"]),
        (PermissionError(13, "Permission denied", ".venv"), 1, [".venv", "Permission denied", "permissions"]),
        (OSError(1, "Operation not permitted", "x"), 1, ["x", "Operation not permitted", "permissions"]),
        (FileExistsError(17, "File exists", "afile"), 1, ["afile", "folder"]),
        (OSError(12, "Cannot allocate memory"), 1, ["memory", "--beam"]),
    ],
)
def test_an_error_that_is_not_a_bug_prints_a_message_without_a_traceback(capsys, error, code, parts):
    assert exit_code(raising(error)) == code
    err = capsys.readouterr().err
    assert err and "Traceback" not in err and all(part in err for part in parts)


def press(*_):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("moment", ["parser", "ensure", "exit_code"])
def test_ctrl_c_at_any_moment_ends_with_its_code_and_one_sentence(monkeypatch, capsys, moment):
    monkeypatch.setattr(commands, moment, press)
    assert main(["progress"]) == 130
    assert capsys.readouterr().err == "\nStopped.\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


DROPPING = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
"""
TRAINING = """
import sys
from tools.cli import commands, main
commands.ensure = lambda *_: None
sys.exit(main(["train", "gru_lm"]))
"""


@pytest.mark.parametrize("later", ["", "raise ImportError('cannot load module more than once per process')"])
def test_ctrl_c_while_torch_drops_it(tmp_path, later):
    """As it does while it imports NumPy, which fails later, or doesn't."""
    (tmp_path / "torch.py").write_text(DROPPING + later)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "\nStopped.\n")


def test_ctrl_c_while_the_commands_are_imported(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "tools.cli.commands")
    monkeypatch.setattr("builtins.__import__", press)
    assert main(["progress"]) == 130 and capsys.readouterr().err == "\nStopped.\n"


def test_an_ignored_ctrl_c_stays_ignored(monkeypatch, no_set_up, course_home):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(commands, "exit_code", lambda run: press() or run())
    assert main(["progress"]) == 0


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError("a bug"), ValueError("x"), KeyError(3)])
def test_any_other_error_is_raised(error):
    with pytest.raises(type(error)):
        exit_code(raising(error))


PRINTING = """
import sys
from tools.cli.commands import exit_code
def run():
    for number in range({n}):
        print(number)
    return 0
sys.exit(exit_code(run))
"""


def test_a_closed_pipe_is_no_error():
    command = [sys.executable, "-c", PRINTING.format(n=100_000)]
    child = subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()
    with child.stderr:
        assert (child.wait(30), child.stderr.read()) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_without_a_traceback():
    command = [sys.executable, "-c", PRINTING.format(n=1)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=PROJECT_ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


# ---- the short commands


def test_short_commands_call_the_right_function(monkeypatch, no_set_up):
    calls = []
    built = lambda *arguments, **options: calls.append((*arguments, options)) or 3  # noqa: E731
    monkeypatch.setattr("tools.authoring.build.build_all", built)
    monkeypatch.setattr("tools.bench.explorables.run", lambda: calls.append("explorables"))
    monkeypatch.setattr("tools.bench.decoding.run", lambda device: calls.append(device.type))
    assert main(["build", "08", "00", "--check"]) == main(["build", "--no-run"]) == 3
    failing = raising(subprocess.CalledProcessError(3, "train"))
    monkeypatch.setattr("tools.bench.clock.run", failing)
    assert main(["bench", "clock"]) == 3
    assert main(["bench", "explorables"]) == main(["bench", "decoding", "--device", "cpu"]) == 0
    builds = [(["08", "00"], True, {"run": True}), ([], False, {"run": False})]
    assert calls == [*builds, "explorables", "cpu"]


def test_deleting_the_progress_reports_what_is_deleted_and_what_is_kept(no_set_up, course_home, capsys):
    assert main(["progress", "--delete"]) == 0
    assert str(course_home) not in capsys.readouterr().out, "there is nothing to delete or to keep"
    main(["progress", "--track", "short"])
    (course_home / "my_road.py").write_text(
        "# --- double_it · lesson 00 · 2026-11-15\nx = 1\n", encoding="utf-8"
    )
    (course_home / "my_road_backups").mkdir()
    capsys.readouterr()
    assert main(["progress", "--delete"]) == 0
    deleted, kept = capsys.readouterr().out.splitlines()
    assert str(course_home / "progress.jsonl") in deleted
    assert f"{course_home} " in kept and kept.endswith(" my_road.py, my_road_backups.")
    assert {path.name for path in course_home.glob("my_road*")} == {"my_road.py", "my_road_backups"}


def test_the_progress_report_says_why_saved_functions_cannot_be_read(no_set_up, course_home, capsys):
    course_home.mkdir()
    (course_home / "my_road.py").write_bytes(b"\xe9")
    assert main(["progress"]) == 0
    assert f"{course_home / 'my_road.py'} can't be read" in capsys.readouterr().out


def test_ci_runs_the_test_command_of_the_readme():
    script = PROJECT_ROOT / ".ci" / "run"
    for path in (script, PROJECT_ROOT / "README.md"):
        assert "python3 -m course_lib test" in path.read_text(encoding="utf-8")
    assert sys.platform == "win32" or script.stat().st_mode & 0o111


# ---- the lab


def test_unknown_arguments_are_passed_to_jupyterlab(monkeypatch, no_set_up, tmp_path):
    calls = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", calls.append)
    monkeypatch.setattr(os, "environ", os.environ | {"PYTHONPATH": "mine"})
    monkeypatch.chdir(tmp_path)
    extra = ["--port", "9000", "--ServerApp.x=1", "notebooks/08.ipynb"]
    assert main(["lab", "--no-browser", *extra]) == 0
    assert calls == [["--no-browser", *extra]] and Path.cwd() == PROJECT_ROOT
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "mine"]


@pytest.mark.slow
def test_a_real_lab_has_our_settings_requires_its_token_and_opens_the_first_lesson():
    with lab_server(PROJECT_ROOT) as server:

        def get(path: str, token: str = server.token) -> bytes:
            request = urllib.request.Request(server.url + path, headers={"Authorization": f"token {token}"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert path != "/" or answer.url.endswith("/lab/tree/notebooks/00_start_here.ipynb")
                return answer.read()

        settings = json.loads(get("/lab/api/settings"))["settings"]
        properties = {entry["id"]: entry["schema"].get("properties", {}) for entry in settings}
        kernels = properties["@jupyterlab/apputils-extension:kernels-settings"]
        assert kernels["commsOverSubshells"]["default"] == "disabled"
        news = properties["@jupyterlab/apputils-extension:notification"]
        assert (news["fetchNews"]["default"], news["checkForUpdates"]["default"]) == ("false", False)
        get("/")
        with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
            get("/api/contents", token="guess")
        refusal.value.close()
