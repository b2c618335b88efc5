"""The door: old Pythons, what is missing, a set-up with fakes for pip and venv, and the retry after it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.cli import commands, door, main
from course_lib.cli.door import PROJECT_ROOT, Trouble, enter, is_ready

PYPROJECT = """
[build-system]
requires = ["setuptools==84.2.1"]
[project]
dependencies = ["no-such-package>=1.0,<2"]
optional-dependencies.lab = ["no-such-lab>=3.0"]
optional-dependencies.test = ["no-such-test-package>=2.0"]
"""


# ---- before anything is known about the machine


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "cli/__init__.py"])
def test_an_old_python_can_read_the_first_files(name):
    """Python 2.7 and 3.6 were tried by hand; this keeps the syntax where they can follow."""
    text = (PROJECT_ROOT / "course_lib" / name).read_bytes().decode("ascii")
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


def test_help_and_the_check_import_nothing_that_must_first_be_installed():
    program = """
import sys
from course_lib.cli import commands, door
commands.parser().format_help()
door.missing("test"), door.is_ready("test")
outside = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(sorted(name for name in outside if not name.startswith(("_", "course_lib"))))
"""
    words = [sys.executable, "-S", "-c", program]
    done = subprocess.run(words, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("argv", "orig", "more", "expected"),
    [
        (["/x/course_lib/__main__.py"], ["python3", "-m", "course_lib"], {}, "python3 -m course_lib"),
        (["/x/course_lib/__main__.py"], ["py", "-m", "course_lib"], {}, "py -m course_lib"),
        (["/x/bin/course"], ["/x/bin/python", "/x/bin/course"], {}, "course"),
        (["/x/__main__.py"], ["/x/python", "-u", "-m"], {"RANK": "0"}, "python3 -m course_lib"),
        (["/x/__main__.py"], ["/x/python", "-m", "x"], {door.CALLED: "py -m course_lib"}, "py -m course_lib"),
    ],
)
def test_messages_name_the_command_as_it_was_called(monkeypatch, refused, argv, orig, more, expected):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig)
    for name in ("RANK", door.CALLED):
        monkeypatch.delenv(name, raising=False)
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    assert door.called() == expected
    assert refused(["trian"]).startswith(f"usage: {expected} ")


# ---- a course of nothing but its pins


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """A course folder whose `.venv` would have this very Python."""
    root = tmp_path / "a course"
    root.mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    pins = "no-such-package==1.0\nno-such-lab==3.0\nno-such-test-package==2.0\npytest==8.0\n"
    (root / "constraints.txt").write_text(pins, encoding="utf-8")
    monkeypatch.setattr(door, "PROJECT_ROOT", root)
    monkeypatch.setattr(door, "VENV", root / ".venv")
    monkeypatch.setattr(door, "LOG", root / "build" / "setup.log")
    monkeypatch.setattr(door, "venv_python", lambda: Path(sys.executable))
    return root


class Machine:
    """Stands for pip, venv and the process that takes over."""

    def __init__(self):
        self.installs: list[list[str]] = []
        self.venvs = 0
        self.restarts: list[list[str]] = []
        self.pip_fails: int | BaseException = 0

    def run(self, command, *, quiet=False) -> int:
        words = [str(word) for word in command]
        if "venv" in words:
            self.venvs += 1
        if "--version" in words:
            return 0 if self.venvs else 1
        if "install" in words:
            self.installs.append(words[words.index("install") + 1 :])
            if isinstance(self.pip_fails, BaseException):
                raise self.pip_fails
            return self.pip_fails
        return 0


@pytest.fixture
def machine(course, monkeypatch) -> Machine:
    fake = Machine()
    monkeypatch.setattr(door, "run", fake.run)
    monkeypatch.setattr(door, "restart", fake.restarts.append)
    return fake


def trouble(stage: str = "lab") -> str:
    with pytest.raises(Trouble) as caught:
        enter(stage, ["lab"])
    assert not is_ready(stage)
    return str(caught.value)


def test_an_interpreter_that_has_everything_is_used_as_it_is(course, machine):
    """Though another version is pinned."""
    here = PYPROJECT.replace("no-such-package>=1.0,<2", "pytest>=8.0").replace(
        "no-such-lab>=3.0", "pytest>=8"
    )
    (course / "pyproject.toml").write_text(here, encoding="utf-8")
    enter("lab", ["lab"])
    assert not machine.installs and not machine.restarts and not door.VENV.exists()
    enter("test", ["test"])
    assert machine.restarts == [["test"]] and "no-such-test-package==2.0" in machine.installs[0]


@pytest.mark.parametrize(
    ("found", "will_do"),
    [
        *[(found, True) for found in ("1.0", "1", "1.0.1+cpu", "1.10.0a0+git12")],
        *[(found, False) for found in ("0.99", "2.0.0", "10.0")],
    ],
)
def test_a_version_within_the_range_will_do_whatever_is_pinned(course, monkeypatch, found, will_do):
    monkeypatch.setattr(door, "version", lambda name: found)
    lacking = [f"no-such-package >=1.0,<2 (has {found})"]
    assert door.missing("training") == ([] if will_do else lacking)


def test_the_first_start_sets_up_and_the_second_only_looks(course, machine, capsys):
    enter("lab", ["lab", "--no-browser"])
    install, project = machine.installs
    assert install[:4] == ["--only-binary", ":all:", "-c", str(course / "constraints.txt")]
    assert install[4:] == ["no-such-package==1.0", "no-such-lab==3.0", "setuptools==84.2.1"]
    assert project == ["--no-deps", "--no-build-isolation", "--editable", str(course)]
    assert "Setting up the course in .venv" in capsys.readouterr().out
    enter("lab", ["lab"])
    assert len(machine.installs) == 2 and machine.venvs == 1
    assert machine.restarts == [["lab", "--no-browser"], ["lab"]] and capsys.readouterr().out == ""


def test_the_tests_add_what_the_lab_did_not_need(course, machine):
    enter("lab", ["lab"])
    assert not is_ready("test")
    enter("test", ["test"])
    assert "no-such-test-package==2.0" in machine.installs[2] and machine.venvs == 1
    assert is_ready("test") and is_ready("lab") and is_ready("training")


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_other_pins_bring_it_up_to_date(course, machine, name):
    enter("lab", ["lab"])
    (course / name).write_text((course / name).read_text().replace("1.0", "1.1"))
    assert not is_ready("lab")
    enter("lab", ["lab"])
    assert len(machine.installs) == 4 and machine.venvs == 1 and is_ready("lab")


@pytest.mark.parametrize("fails", [1, KeyboardInterrupt()])
def test_a_broken_set_up_is_repeated(course, machine, fails):
    machine.pip_fails = fails
    with pytest.raises((Trouble, KeyboardInterrupt)) as caught:
        enter("lab", ["lab"])
    assert not is_ready("lab") and not machine.restarts
    if fails == 1:
        assert "pip could not install the packages; it says why above." in str(caught.value)
        assert "run the\nsame command again" in str(caught.value) and str(door.LOG) in str(caught.value)
    machine.pip_fails = 0
    enter("lab", ["lab"])
    assert machine.restarts == [["lab"]] and is_ready("lab") and machine.venvs == 1


def test_tests_that_cannot_be_added_leave_the_lab_as_it_was(course, machine):
    enter("lab", ["lab"])
    machine.pip_fails = 1
    trouble("test")
    assert is_ready("lab")


def test_packages_pip_was_stopped_in_are_forgotten(course, machine):
    enter("lab", ["lab"])
    packages = door.VENV.joinpath(*(["Lib"] if os.name == "nt" else ["lib", "python3.11"]), "site-packages")
    for name in ("whole-1.0", "half-1.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    (packages / "whole-1.0.dist-info" / "INSTALLER").write_text("pip\n")
    enter("test", ["test"])
    assert [path.name for path in packages.iterdir()] == ["whole-1.0.dist-info"]


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


def test_a_venv_that_broke_its_promise_is_put_right_next_time(course, machine, monkeypatch):
    enter("lab", ["lab"])
    monkeypatch.setattr(sys, "prefix", str(door.VENV))  # we are inside, and the package is still not there
    with pytest.raises(Trouble, match=r"\.venv should have no-such-package >=1.0,<2 and has not"):
        enter("lab", ["lab"])
    enter("lab", ["lab"])
    assert len(machine.installs) == 4 and is_ready("lab")


def test_a_venv_whose_python_was_removed_is_not_ready(course, machine, monkeypatch):
    enter("lab", ["lab"])
    monkeypatch.setattr(door, "venv_python", lambda: door.VENV / "gone")
    assert not is_ready("lab")


@pytest.mark.skipif(os.name == "nt", reason="there it is a child")
def test_the_environment_takes_the_place_of_the_process(course, monkeypatch):
    def execve(path, command, environment):
        assert command == [path, "-m", "course_lib", "lab", "--port", "9000"] and path == sys.executable
        assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(course)
        assert environment[door.CALLED] == door.called()
        raise SystemExit(0)  # the real one never comes back

    monkeypatch.setattr(os, "execve", execve)
    with pytest.raises(SystemExit):
        door.restart(["lab", "--port", "9000"])


def test_what_is_needed_is_asked_for_and_no_more():
    """A GPU machine without Jupyter trains; only the explorables' bench needs a browser."""
    stages = {
        "training": "train bahdanau|translate x|evaluate|sample|data show|bench text|experiment",
        "lab": "lab|build|progress",
        "test": "bench explorables|test",
    }
    for stage, lines in stages.items():
        for line in lines.split("|"):
            assert commands.parser().parse_args(line.split()).stage == stage, line
    training = door.needed("training")
    assert "torch" in training and training.items() < door.needed("lab").items()
    assert not [name for name in training if "jupyter" in name or "ipy" in name or name.startswith("nb")]


def test_pip_is_called_in_the_environment_with_its_own_words_on_the_screen(course, monkeypatch):
    seen = []

    def run(command, env, stdout, stderr):
        seen.append((command, env["PIP_USER"], stdout))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    door.pip("torch==2.13.0")
    ((command, user, out),) = seen
    assert command[0] == Path(sys.executable) and command[-2:] == ["install", "torch==2.13.0"]
    assert user == "0" and out is None and door.LOG in command and door.LOG.parent.is_dir()
