"""The door: old Pythons, what is missing, a set-up with fakes for pip and venv, and the retry after it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import runtime
from tools.cli import commands, door, main
from tools.cli.door import PROJECT_ROOT, Trouble, enter, is_ready

PYPROJECT = """
[build-system]
requires = ["setuptools==84.2.1"]
[project]
dependencies = ["no-such-package>=1.0,<2"]
optional-dependencies.lab = ["no-such-lab>=3.0"]
optional-dependencies.test = ["no-such-test-package>=2.0"]
"""


# ---- before anything is known about the machine


FIRST_FILES = (
    "course_lib/__init__.py",
    "course_lib/__main__.py",
    "tools/__init__.py",
    "tools/cli/__init__.py",
)


@pytest.mark.parametrize("name", FIRST_FILES)
def test_an_old_python_can_read_the_first_files(name):
    """Python 2.7 and 3.6 were tried by hand; this keeps the syntax where they can follow."""
    text = (PROJECT_ROOT / name).read_bytes().decode("ascii")
    nodes = [type(node) for node in ast.walk(ast.parse(text, feature_version=(3, 7)))]
    new = {ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Starred, ast.AsyncFunctionDef, ast.Nonlocal}
    assert not new.intersection(nodes)
    assert not any(line.startswith("from __future__") for line in text.splitlines())


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (("python3.12", "python3.11"), "    python3.12 -m course_lib lab --no-browser\n"),
        ((), "Install a newer Python"),
    ],
)
def test_an_old_python_is_told_what_to_do(monkeypatch, capsys, there, told):
    with monkeypatch.context() as patch:
        patch.setattr("sys.version_info", (3, 9, 18))
        patch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in there else None)
        assert main(["lab", "--no-browser"]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.11 or newer. This is Python 3.9.18" in said and told in said


@pytest.mark.parametrize(
    ("argv", "orig", "set_before", "expected"),
    [
        ("/x/course_lib/__main__.py", "python3 -m course_lib", "", "python3 -m course_lib"),
        ("/x/course_lib/__main__.py", "py -m course_lib", "", "py -m course_lib"),
        ("/x/bin/course", "/x/bin/python /x/bin/course", "", "course"),
        ("/x/__main__.py", "/x/python -u -m course_lib", "", "python3 -m course_lib"),  # torchrun
        ("/x/__main__.py", "/x/.venv/python -m course_lib", "py -m course_lib", "py -m course_lib"),
    ],
)
def test_messages_name_the_command_as_it_was_called(monkeypatch, capsys, argv, orig, set_before, expected):
    monkeypatch.setattr(sys, "argv", [argv])
    monkeypatch.setattr(sys, "orig_argv", orig.split())
    if set_before:
        monkeypatch.setenv(door.CALLED, set_before)
    with pytest.raises(SystemExit):
        main(["trian"])
    assert capsys.readouterr().err.startswith(f"usage: {expected} ")
    assert main(["data", "multi30k", "nowhere"]) == 1
    assert f"    {expected} data multi30k --download" in capsys.readouterr().out
    assert runtime.called() == expected


# ---- a course of nothing but its pins


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """A course folder whose `.venv` would have this very Python."""
    root = tmp_path / "a course"
    root.mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (root / "constraints.txt").write_text("no-such-package==1.0\n", encoding="utf-8")
    monkeypatch.setattr(door, "PROJECT_ROOT", root)
    monkeypatch.setattr(door, "VENV", root / ".venv")
    monkeypatch.setattr(door, "venv_python", lambda: Path(sys.executable))
    return root


class Machine:
    """Stands for pip, venv and the process that takes over."""

    def __init__(self):
        self.installs: list[list[str]] = []
        self.venvs = 0
        self.restarts: list[list[str]] = []
        self.pip_fails: int | BaseException = 0

    def run(self, command) -> int:
        words = [str(word) for word in command]
        if "install" not in words:
            self.venvs += 1
            return 0
        self.installs.append(words[words.index("install") + 1 :])
        if isinstance(self.pip_fails, BaseException):
            raise self.pip_fails
        return self.pip_fails


@pytest.fixture
def machine(course, monkeypatch) -> Machine:
    fake = Machine()
    monkeypatch.setattr(door, "run", fake.run)
    monkeypatch.setattr(door, "restart", fake.restarts.append)
    return fake


def trouble(stage: str = "lab") -> str:
    with pytest.raises(Trouble) as caught:
        enter(stage, ["lab"])
    return str(caught.value)


def test_an_interpreter_whose_versions_are_within_the_ranges_is_used_as_it_is(course, machine, monkeypatch):
    """Though another version is pinned."""
    monkeypatch.setattr(door, "version", lambda name: "3.0.1+cpu" if "lab" in name else "1.10.0a0+git12")
    enter("lab", ["lab"])
    assert not machine.installs and not machine.restarts and not door.VENV.exists()
    assert door.missing("test") == ["no-such-test-package >=2.0 (has 1.10.0a0+git12)"]
    enter("test", ["test"])
    assert machine.restarts == [["test"]] and machine.installs[0][-1] == f"{course}[lab,test]"


def test_a_part_of_the_course_is_told_from_the_whole(course, machine):
    (door.PROJECT_ROOT / "pyproject.toml").unlink()
    assert "is not the whole course" in trouble() and not machine.installs


def test_the_first_start_sets_up_and_the_second_only_looks(course, machine, capsys):
    enter("lab", ["lab", "--no-browser"])
    (install,) = machine.installs
    pins = str(course / "constraints.txt")
    assert install == ["--only-binary", ":all:", "-c", pins, "--editable", f"{course}[lab]"]
    assert "setting up the course in .venv" in capsys.readouterr().out
    enter("lab", ["lab"])
    assert len(machine.installs) == 1 and machine.venvs == 1
    assert machine.restarts == [["lab", "--no-browser"], ["lab"]] and capsys.readouterr().out == ""


def test_inside_a_stage_adds_what_the_one_before_did_not_need(course, machine, monkeypatch):
    """Or what was removed since. What cannot be added leaves the rest as it was."""
    enter("training", ["train"])
    monkeypatch.setattr(sys, "prefix", str(door.VENV))
    enter("lab", ["lab"])
    machine.pip_fails = 1
    assert "pip could not install the packages; it says why above." in trouble("test")
    assert [one[-1] for one in machine.installs] == [str(course), f"{course}[lab]", f"{course}[lab,test]"]
    assert machine.venvs == 1 and is_ready() and machine.restarts == [["train"], ["lab"]]


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_other_pins_bring_it_up_to_date(course, machine, name):
    enter("lab", ["lab"])
    (course / name).write_text((course / name).read_text().replace("1.0", "1.1"))
    assert not is_ready()
    enter("lab", ["lab"])
    assert len(machine.installs) == 2 and machine.venvs == 1 and is_ready()


@pytest.mark.parametrize("fails", [1, KeyboardInterrupt()])
def test_a_broken_set_up_is_repeated(course, machine, fails):
    machine.pip_fails = fails
    with pytest.raises((Trouble, KeyboardInterrupt)):
        enter("lab", ["lab"])
    assert not is_ready() and not machine.restarts
    machine.pip_fails = 0
    enter("lab", ["lab"])
    assert machine.restarts == [["lab"]] and is_ready()
    assert machine.venvs == 2, "pip may have been stopped in a package, and would take it for whole"


def test_a_python_without_venv_names_the_package_that_has_it(course, machine, monkeypatch):
    there = door.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ensurepip" else there(name))
    told = trouble()
    assert "its venv module is not installed" in told
    assert f"sudo apt install python3.{sys.version_info.minor}-venv" in told and not door.VENV.exists()


def test_a_venv_of_somebody_else_is_left_alone(course, machine):
    door.VENV.mkdir()
    (door.VENV / "pyvenv.cfg").write_text("home = /usr/bin")
    told = trouble()
    assert "was not made by the course" in told and "Move it away" in told
    assert (door.VENV / "pyvenv.cfg").exists() and not machine.installs


def test_a_venv_whose_python_was_removed_is_not_ready(course, machine, monkeypatch):
    enter("lab", ["lab"])
    monkeypatch.setattr(door, "venv_python", lambda: door.VENV / "gone")
    assert not is_ready()


@pytest.mark.skipif(os.name == "nt", reason="there it is a child")
def test_the_environment_takes_the_place_of_the_process(course, monkeypatch):
    def execve(path, command, environment):
        assert command == [path, "-m", "course_lib", "lab", "--port", "9000"] and path == sys.executable
        assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(course)
        raise SystemExit(0)  # the real one never comes back

    monkeypatch.setattr(os, "execve", execve)
    with pytest.raises(SystemExit):
        door.restart(["lab", "--port", "9000"])


def test_what_is_needed_is_asked_for_and_no_more():
    """A GPU machine without Jupyter trains."""
    stages = {
        "training": "train bahdanau|translate x|evaluate|sample|data show|bench clock|experiment",
        "lab": "lab|build|progress|bench explorables",
        "test": "test",
    }
    for stage, lines in stages.items():
        for line in lines.split("|"):
            assert commands.parser().parse_args(line.split()).stage == stage, line
    training = door.needed("training")
    assert "torch" in training and training.items() < door.needed("lab").items()
    assert not [name for name in training if "jupyter" in name or "ipy" in name or name.startswith("nb")]


def test_pip_is_called_with_its_own_words_on_the_screen(monkeypatch):
    seen = []
    monkeypatch.setattr(
        subprocess, "run", lambda *command, **how: seen.append(how) or SimpleNamespace(returncode=3)
    )
    assert door.run(["pip"]) == 3
    assert seen[0].keys() == {"env"} and seen[0]["env"]["PIP_USER"] == "0"
