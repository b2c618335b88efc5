"""`packages`: what it asks pip for, and what it refuses to install."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from course_lib import ready
from course_lib.runtime import PROJECT_ROOT
from tests.test_pins import constraints
from tools.cli import commands, main, packages_command

ABSENT = ("sacrebleu", "anywidget")


def read(command: list[str]) -> list[str]:
    """The lines of the constraints, while the file exists."""
    return Path(command[command.index("-c") + 1]).read_text(encoding="utf-8").splitlines()


@pytest.fixture
def asked(monkeypatch):
    """What pip was asked for, with its constraints, on a Python that lacks two packages."""
    calls = []
    monkeypatch.setattr(packages_command, "absent", lambda names: [name for name in ABSENT if name in names])
    monkeypatch.setattr(subprocess, "call", lambda command: calls.append((command, read(command))) or 0)
    monkeypatch.setattr(commands, "ensure", lambda *_: pytest.fail("an environment would be set up"))
    return calls


def test_only_what_is_missing_is_installed_and_the_platform_keeps_its_versions(asked):
    assert main(["packages"]) == 0
    [(command, kept)] = asked
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert kept == [f"{name}=={version(name)}" for name in ready.PLATFORM]
    requirements = [word for word in command if "==" in word]
    assert sorted(requirements) == sorted(f"{name}=={constraints()[name]}" for name in ABSENT)


def test_nothing_is_installed_if_nothing_is_missing(asked, monkeypatch):
    monkeypatch.setattr(packages_command, "absent", lambda names: [])
    assert main(["packages"]) == 0 and asked == []


def test_large_packages_are_refused_and_a_failure_of_pip_is_reported(asked, monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "call", lambda command: 1)
    assert main(["packages"]) == 1 and "pip couldn't install" in capsys.readouterr().err
    monkeypatch.setattr(packages_command, "absent", lambda names: ["torch"])
    assert main(["packages"]) == 1
    assert "torch" in (message := capsys.readouterr().err) and "course_lib lab" in message


def test_the_command_line_can_be_started_by_its_path_from_any_folder(tmp_path):
    command = [sys._base_executable, "-S", PROJECT_ROOT / "course_lib", "--version"]  # -S: no packages
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0 and ran.stdout.startswith("attention-course "), ran.stderr
