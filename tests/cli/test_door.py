"""The door before anything is known about the machine: old Pythons, wrong words, what it must not import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.cli import commands, main
from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble

READ_BY_ANY_PYTHON = ["__init__.py", "__main__.py", "cli/__init__.py"]


@pytest.mark.parametrize("name", READ_BY_ANY_PYTHON)
def test_an_old_python_can_read_the_first_files(name):
    """Python 2.7 and 3.6 were tried by hand; this keeps the syntax where they can follow."""
    text = (PROJECT_ROOT / "course_lib" / name).read_bytes().decode("ascii")
    nodes = [type(node) for node in ast.walk(ast.parse(text, feature_version=(3, 7)))]
    new = {ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Starred, ast.AsyncFunctionDef, ast.Nonlocal}
    assert not new.intersection(nodes)
    assert not any(line.startswith("from __future__") for line in text.splitlines())


def old_python(monkeypatch, *found: str) -> None:
    monkeypatch.setattr("sys.version_info", (3, 9, 18))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in found else None)


def test_an_old_python_is_told_which_newer_one_is_there(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        old_python(patch, "python3.12", "python3.11")
        code = main(["lab", "--no-browser"])
    told = capsys.readouterr().err
    assert code == 1
    assert "needs Python 3.11 or newer. This is Python 3.9.18" in told
    assert "    python3.12 -m course_lib lab --no-browser\n" in told


def test_an_old_python_alone_is_told_to_get_a_newer_one(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        old_python(patch)
        code = main(["lab"])
    assert code == 1 and "Install a newer Python" in capsys.readouterr().err


def test_no_command_shows_them_all(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in commands.COMMANDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["labb"], "invalid choice: 'labb'"),
        (["test", "--fast"], "test does not know --fast"),
        (["--fast"], "expected a command first: lab, test"),
        (["bench", "walls"], "invalid choice: 'walls'"),
        (["bench", "explorables", "--folder", "there"], "bench does not know --folder there"),
    ],
)
def test_a_wrong_word_is_answered_without_a_set_up(monkeypatch, capsys, words, told):
    monkeypatch.setattr(commands, "enter", lambda *_: pytest.fail("nothing should be set up"))
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2 and told in capsys.readouterr().err


def test_help_and_the_check_import_nothing_that_must_first_be_installed():
    program = """
import sys
from course_lib.cli import commands, environment, pins
commands.parser().format_help()
pins.missing("test"), pins.fingerprint()
outside = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(sorted(name for name in outside if not name.startswith(("_", "course_lib"))))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_door_opens_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "course_lib", "--version"],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout.startswith("attention-course ")


@pytest.mark.parametrize(
    ("ends_with", "code", "told"),
    [
        (Trouble("The disk is full.", "Make room."), 1, "\nThe disk is full.\nMake room.\n"),
        (KeyboardInterrupt(), 130, "\nStopped.\n"),
    ],
)
def test_a_command_that_cannot_go_on_says_so_without_a_traceback(monkeypatch, capsys, ends_with, code, told):
    def stop(*_):
        raise ends_with

    monkeypatch.setattr(commands, "enter", stop)
    assert main(["progress"]) == code
    assert capsys.readouterr().err == told


def test_a_reader_who_goes_away_is_no_error():
    program = """
import sys
from course_lib.cli import commands, progress
commands.enter = lambda *_: None
def run(args):
    for number in range(100_000):
        print(number)
    return 0
progress.run = run
sys.exit(commands.run_command(["progress"]))
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.readline()
    child.stdout.close()
    with child.stderr:
        assert (child.wait(30), child.stderr.read()) == (0, b"")


def test_course_lib_without_its_folder_says_where_it_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(commands, "PROJECT_ROOT", tmp_path)
    assert main(["lab"]) == 1
    assert "The course runs from its own folder" in capsys.readouterr().err


def test_further_arguments_reach_the_lab_untouched(monkeypatch):
    seen = []
    monkeypatch.setattr(commands, "enter", lambda stage, argv: seen.append((stage, argv)))
    monkeypatch.setattr(commands.lab, "run", lambda args: seen.append((args.no_browser, args.further)) or 0)
    words = ["lab", "--port", "9000", "--no-browser", "--ServerApp.x=1", "notebooks/08.ipynb"]
    assert main(words) == 0
    assert seen == [("lab", words), (True, ["--port", "9000", "--ServerApp.x=1", "notebooks/08.ipynb"])]


def test_thin_commands_call_what_does_the_work(monkeypatch, capsys):
    monkeypatch.setattr(commands, "enter", lambda *_: None)
    built = []
    monkeypatch.setattr(
        "course_lib.authoring.build.build_all", lambda lessons, check: built.append((lessons, check)) or 3
    )
    assert main(["build", "08", "00", "--check"]) == 3
    assert built == [(["08", "00"], True)]
    monkeypatch.setattr("course_lib.bench.explorables.run", lambda: 4)
    assert main(["bench", "explorables"]) == 4
    monkeypatch.setattr("course_lib.bench.text.run", lambda folder: {None: 5, "there": 6}[folder])
    assert main(["bench", "text"]) == 5 and main(["bench", "text", "--folder", "there"]) == 6
    assert main(["progress"]) == 0
    said = capsys.readouterr().out
    assert "Lessons" in said and "Your own functions: none yet." in said
    assert main(["progress", "--delete"]) == 0 and "no progress to delete" in capsys.readouterr().out


def test_ci_calls_the_command_of_the_readme():
    script = PROJECT_ROOT / ".ci" / "run"
    assert "python3 -m course_lib test" in script.read_text(encoding="utf-8")
    assert "python3 -m course_lib test" in (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    if sys.platform != "win32":
        assert Path(script).stat().st_mode & 0o111
