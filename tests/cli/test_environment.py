"""Setting up, with fakes for what takes minutes: each way it can go wrong, and the retry after it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from course_lib.cli import commands, environment, pins
from course_lib.cli.environment import (
    Place,
    enter,
    is_ready,
    read_stamp,
    set_up,
    write_stamp,
)
from course_lib.cli.trouble import Trouble


class Pip:
    """Stands for pip: remembers what it was asked for, and fails when told to."""

    def __init__(self):
        self.calls: list[list[str]] = []
        self.fails: BaseException | None = None

    def __call__(self, place: Place, arguments: list[str]) -> None:
        self.calls.append(arguments)
        if self.fails:
            raise self.fails


@pytest.fixture
def pip(monkeypatch) -> Pip:
    fake = Pip()
    monkeypatch.setattr(environment, "run_pip", fake)
    return fake


@pytest.fixture
def restarts(monkeypatch) -> list[list[str]]:
    seen: list[list[str]] = []
    monkeypatch.setattr(environment, "restart", lambda place, argv: seen.append(argv))
    return seen


@pytest.fixture
def venvs(monkeypatch) -> list[str]:
    """Making a venv only makes its folder; asking for pip says it is there once it was made."""
    made: list[str] = []

    def run(command, **_):
        if "venv" in command:
            made.append(command[0])
        return SimpleNamespace(returncode=0 if made else 1, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return made


# ---- the environment is there


def with_packages_that_are_here(place: Place) -> None:
    """A course whose lab needs pytest and nothing else."""
    text = (place.root / "pyproject.toml").read_text()
    for absent in ("no-such-package>=1.0,<2", "no-such-lab>=3.0"):
        text = text.replace(absent, "pytest>=8.0")
    (place.root / "pyproject.toml").write_text(text)
    with (place.root / "constraints.txt").open("a") as file:
        file.write("pytest==8.0\n")


def test_an_interpreter_that_has_everything_is_used_as_it_is(place, pip, restarts):
    """Though another version is pinned."""
    with_packages_that_are_here(place)
    enter("lab", ["lab"], place)
    assert not pip.calls and not restarts and not place.venv.exists()


def test_an_active_environment_without_the_test_packages_makes_way_for_venv(place, pip, restarts, venvs):
    with_packages_that_are_here(place)
    enter("test", ["test"], place)
    assert restarts == [["test"]]
    assert {"pytest==8.0", "no-such-test-package==2.0"} <= {*pip.calls[0]}


@pytest.mark.parametrize(
    ("found", "will_do"),
    [
        ("1.0", True),
        ("1", True),
        ("1.0.1+cpu", True),
        ("1.10.0a0+git12", True),
        ("1.9rc1", True),
        ("0.99", False),
        ("2.0.0", False),
        ("10.0", False),
    ],
)
def test_a_version_within_the_range_will_do_whatever_is_pinned(place, monkeypatch, found, will_do):
    monkeypatch.setattr(pins, "version", lambda name: found)
    lacking = [f"no-such-package >=1.0,<2 (has {found})"]
    assert pins.missing("training", place.root) == ([] if will_do else lacking)


def test_training_asks_for_no_jupyter():
    training, lab = pins.needed("training"), pins.needed("lab")
    assert "torch" in training and training.items() < lab.items()
    assert not [name for name in training if "jupyter" in name or "ipy" in name or name.startswith("nb")]


def test_what_is_needed_is_asked_for_and_no_more(monkeypatch):
    """A GPU machine without Jupyter trains; only the explorables' bench needs a browser."""
    asked = []
    monkeypatch.setattr(commands, "enter", lambda stage, argv: asked.append(stage))
    for name in commands.COMMANDS:
        module = commands.COMMANDS[name].module
        monkeypatch.setattr(module, "run", lambda args: 0)
    told = {
        "train": ["train", "bahdanau"],
        "translate": ["translate", "the cat sleeps"],
        "evaluate": ["evaluate"],
        "data": ["data", "show"],
        "training": ["bench", "training"],
        "decoding": ["bench", "decoding"],
        "text": ["bench", "text"],
        "explorables": ["bench", "explorables"],
        "lab": ["lab"],
        "build": ["build"],
        "progress": ["progress"],
        "test": ["test"],
    }
    for words in told.values():
        assert commands.run_command(words) == 0
    assert dict(zip(told, asked, strict=True)) == {
        **dict.fromkeys(
            ("train", "translate", "evaluate", "data", "training", "decoding", "text"), "training"
        ),
        **dict.fromkeys(("lab", "build", "progress"), "lab"),
        **dict.fromkeys(("explorables", "test"), "test"),
    }


def test_the_real_check_is_quick():
    """Every start pays for it."""
    start = time.process_time()
    pins.missing("test")
    pins.fingerprint()
    assert time.process_time() - start < 0.5


# ---- the first set-up, and the second start


def test_the_first_start_sets_up_and_the_second_only_looks(place, pip, restarts, venvs, capsys):
    enter("lab", ["lab", "--no-browser"], place)
    install, project = pip.calls
    assert install[:4] == ["--only-binary", ":all:", "-c", str(place.root / "constraints.txt")]
    assert install[4:] == ["no-such-package==1.0", "no-such-lab==3.0", "setuptools==84.2.1"]
    assert project == ["--no-deps", "--no-build-isolation", "--editable", str(place.root)]
    assert read_stamp(place) == {"pins": pins.fingerprint(place.root), "stage": "lab"}
    assert "First start: setting up" in capsys.readouterr().out

    enter("lab", ["lab"], place)
    assert len(pip.calls) == 2 and len(venvs) == 1
    assert restarts == [["lab", "--no-browser"], ["lab"]]
    assert capsys.readouterr().out == ""


def test_the_tests_add_what_the_lab_did_not_need(place, pip, restarts, venvs, capsys):
    enter("lab", ["lab"], place)
    assert not is_ready(place, "test")
    enter("test", ["test"], place)
    assert "no-such-test-package==2.0" in pip.calls[2] and len(venvs) == 1
    assert is_ready(place, "test") and is_ready(place, "lab")
    assert "Bringing .venv up to date for the tests." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_other_pins_bring_it_up_to_date(place, pip, restarts, venvs, name):
    enter("lab", ["lab"], place)
    path = place.root / name
    path.write_text(path.read_text().replace("1.0", "1.1"))
    assert not is_ready(place, "lab")
    enter("lab", ["lab"], place)
    assert len(pip.calls) == 4 and len(venvs) == 1 and is_ready(place, "lab")


def test_a_setting_that_installs_nothing_changes_nothing(place):
    before = pins.fingerprint(place.root)
    with (place.root / "pyproject.toml").open("a") as file:
        file.write("\n[tool.ruff]\nline-length = 99\n")
    assert pins.fingerprint(place.root) == before


@pytest.mark.parametrize("inside", [False, True])
def test_an_active_environment_is_told_why_it_is_not_used(
    place, pip, restarts, venvs, monkeypatch, capsys, inside
):
    monkeypatch.setattr(sys, "prefix", str(place.venv if inside else place.root / "theirs"))
    enter("lab", ["lab"], place)
    told = "environment lacks no-such-package >=1.0,<2 and 1 more: the course uses a .venv of its own."
    assert (told in capsys.readouterr().out) != inside


# ---- what can go wrong


def trouble(place: Place, stage: str = "lab") -> str:
    with pytest.raises(Trouble) as caught:
        enter(stage, ["lab"], place)
    assert not is_ready(place, stage)
    return str(caught.value)


def test_a_full_disk_is_seen_before_anything_is_made(place, pip, restarts, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=3 * 10**8))
    told = trouble(place)
    assert "needs about 2.5 GB here, 0.3 GB are free" in told and "run the same command again" in told
    assert not place.venv.exists() and not pip.calls


def test_a_python_without_venv_names_the_package_that_has_it(place, pip, restarts, venvs, monkeypatch):
    there = environment.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ensurepip" else there(name))
    told = trouble(place)
    assert "its venv module is not installed" in told
    assert f"sudo apt install python3.{sys.version_info.minor}-venv" in told
    assert not place.venv.exists()


def test_a_venv_that_cannot_be_made_shows_why(place, pip, restarts, venvs, monkeypatch):
    def run(command, **_):
        return SimpleNamespace(returncode=1, stdout="", stderr="Error: libpython is missing\n")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        assert "    Error: libpython is missing\n" in trouble(place)
    assert read_stamp(place) == {}
    enter("lab", ["lab"], place)  # the retry starts clean
    assert is_ready(place, "lab") and len(venvs) == 1


def test_after_a_failed_install_the_same_command_goes_on(place, pip, restarts, venvs):
    pip.fails = Trouble("pip could not reach the package index.", "Check the network.")
    assert trouble(place) == "pip could not reach the package index.\nCheck the network."
    assert not restarts
    pip.fails = None
    enter("lab", ["lab"], place)
    assert len(venvs) == 1  # what was there is not made again
    assert restarts == [["lab"]]


def test_tests_that_cannot_be_added_leave_the_lab_as_it_was(place, pip, restarts, venvs):
    enter("lab", ["lab"], place)
    pip.fails = Trouble("pip could not reach the package index.", "Check the network.")
    trouble(place, "test")
    assert is_ready(place, "lab")


def test_ctrl_c_during_the_set_up_says_how_to_go_on(place, pip, restarts, venvs, capsys):
    pip.fails = KeyboardInterrupt()
    with pytest.raises(SystemExit) as left:
        enter("lab", ["lab"], place)
    assert left.value.code == 130
    assert "Run the same command again to go on" in capsys.readouterr().out
    assert read_stamp(place) == {}


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "The disk is full."),
        (errno.EACCES, "The course may not write in its folder"),
        (errno.EROFS, "The course may not write in its folder"),
        (errno.EIO, "The set-up stopped: "),
    ],
)
def test_what_the_system_refuses_is_told_plainly(place, pip, restarts, venvs, number, told):
    pip.fails = OSError(number, os.strerror(number), "somewhere")
    message = trouble(place)
    assert message.startswith(told) and message.endswith("then run the same command again.")


def test_a_read_only_folder_is_told_at_the_first_write(place, pip, restarts, monkeypatch):
    def refuse(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    shutil.rmtree(place.root / "build")
    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    assert "may not write in its folder" in trouble(place)


def test_a_half_made_venv_is_made_anew(place, pip, restarts, venvs):
    place.venv.mkdir()
    write_stamp(place, {})
    (place.venv / "half a file").touch()
    enter("lab", ["lab"], place)
    assert not (place.venv / "half a file").exists() and is_ready(place, "lab")


@pytest.mark.parametrize("content", ["", '{"pins": "31', "{}", '{"pins": "of old", "stage": "test"}'])
def test_a_stamp_that_promises_nothing_is_no_stamp(place, content):
    place.venv.mkdir()
    place.stamp.write_text(content)
    assert not is_ready(place, "lab") and read_stamp(place) is not None


def test_a_venv_whose_python_was_removed_is_not_ready(place, tmp_path):
    elsewhere = Place(place.root)  # a real one: its Python is in the empty .venv
    place.venv.mkdir()
    write_stamp(place, {"pins": pins.fingerprint(place.root), "stage": "test"})
    assert is_ready(place, "test") and not is_ready(elsewhere, "test")


def test_a_venv_of_somebody_else_is_left_alone(place, pip, restarts):
    place.venv.mkdir()
    (place.venv / "pyvenv.cfg").write_text("home = /usr/bin")
    told = trouble(place)
    assert "was not made by the course" in told and "Move it away" in told
    assert (place.venv / "pyvenv.cfg").exists() and not pip.calls


def test_packages_pip_was_stopped_in_are_forgotten(place, pip, restarts, venvs):
    enter("lab", ["lab"], place)
    packages = place.venv / "lib" / "python3.11" / "site-packages"
    for name in ("whole-1.0", "half-1.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
        (packages / f"{name}.dist-info" / "METADATA").touch()
    (packages / "whole-1.0.dist-info" / "INSTALLER").write_text("pip\n")
    enter("test", ["test"], place)
    assert [path.name for path in packages.iterdir()] == ["whole-1.0.dist-info"]


def test_a_venv_that_broke_its_promise_is_put_right_next_time(place, pip, restarts, venvs, monkeypatch):
    enter("lab", ["lab"], place)
    monkeypatch.setenv(environment.CAME_THROUGH, "1")  # we are inside, and the package is still not there
    told = trouble(place)
    assert ".venv should have no-such-package >=1.0,<2 and has not" in told
    assert environment.CAME_THROUGH not in os.environ
    enter("lab", ["lab"], place)
    assert len(pip.calls) == 4 and is_ready(place, "lab")


# ---- two windows


def test_a_second_set_up_waits_for_the_first_and_uses_what_it_made(place, pip, restarts, venvs, capsys):
    holding, let_go = threading.Event(), threading.Event()

    def other_window():
        with environment.one_at_a_time(place.lock):
            holding.set()
            let_go.wait(10)
            set_up(place, "lab", ["no-such-package 1.0"])

    other = threading.Thread(target=other_window)
    other.start()
    holding.wait(10)
    threading.Timer(0.2, let_go.set).start()
    enter("lab", ["lab"], place)
    other.join(10)
    assert "Another window is setting up the course. Waiting" in capsys.readouterr().out
    assert len(pip.calls) == 2 and restarts == [["lab"]]


def test_a_disk_without_locks_does_not_stop_the_course(monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert environment.try_to_lock(0)


# ---- going in


def test_on_unix_the_environment_takes_the_place_of_the_process(place, monkeypatch):
    seen = []
    monkeypatch.setattr(environment, "WINDOWS", False)
    monkeypatch.setattr(
        environment, "subprocess", SimpleNamespace(Popen=lambda *_, **__: pytest.fail("no child"))
    )

    def execve(path, command, environment):
        seen.append((path, command, environment))
        raise SystemExit(0)  # the real one never comes back

    monkeypatch.setattr(os, "execve", execve)
    with pytest.raises(SystemExit):
        environment.restart(place, ["lab", "--port", "9000"])
    ((path, command, told),) = seen
    assert command == [path, "-m", "course_lib", "lab", "--port", "9000"] and path == str(place.python)
    assert told["PYTHONPATH"].split(os.pathsep)[0] == str(place.root)
    assert told["PATH"].startswith(str(place.programs)) and told[environment.CAME_THROUGH] == "1"


def test_on_windows_it_is_a_child_whose_exit_code_is_ours(place, monkeypatch):
    monkeypatch.setattr(environment, "WINDOWS", True)
    monkeypatch.setattr("course_lib.cli.place.WINDOWS", True)
    assert Place(place.root).python.parts[-2:] == ("Scripts", "python.exe")
    waits = [KeyboardInterrupt(), 7]

    class Child:
        def __init__(self, command, env):
            assert command[1:] == ["-m", "course_lib", "test"]

        def wait(self):
            outcome = waits.pop(0)
            if isinstance(outcome, BaseException):
                raise outcome  # Ctrl-C reaches the child too; the parent goes on waiting for its exit code
            return outcome

    monkeypatch.setattr(subprocess, "Popen", Child)
    with pytest.raises(SystemExit) as left:
        environment.restart(place, ["test"])
    assert left.value.code == 7
