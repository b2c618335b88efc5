"""Settings of the hub, and what is checked before it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.cli.environment import CommandError
from tools.hosting import checks
from tools.hosting.learners import FILE, add
from tools.hosting.settings import read_settings


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("COURSE_HUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COURSE_HUB_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_the_defaults_are_for_one_machine_that_nobody_else_reaches(state):
    found = read_settings()
    assert (found.state, found.address, found.port) == (state, "127.0.0.1", 8000)
    assert (found.memory, found.places, found.idle) == (2 * 2**30, 25, 3600)
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *[
            ("COURSE_HUB_MEMORY", value)
            for value in ("2", "2X", "-1G", "1G", "1535M", "0G", "nan", "1e3G", "2G; rm")
        ],
        *[("COURSE_HUB_PORT", value) for value in ("80", "99999", "http", "8000.5", "²")],
        *[("COURSE_HUB_PLACES", value) for value in ("0", "-3", "many")],
        *[("COURSE_HUB_IDLE_MINUTES", value) for value in ("0", "nan", "inf", "-5", "soon")],
        ("COURSE_HUB_ADDRESS", "example.org/x"),
        ("COURSE_HUB_STATE", str(PROJECT_ROOT / "build" / "state")),
        ("COURSE_HUB_STATE", "/proc/state"),
    ],
)
def test_a_bad_setting_is_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(CommandError) as caught:
        read_settings()
    assert variable in str(caught.value) and value in str(caught.value)


def test_the_least_memory_can_be_written_in_both_units(monkeypatch):
    for value in ("1.5G", "1536M"):
        monkeypatch.setenv("COURSE_HUB_MEMORY", value)
        assert read_settings().memory == 1536 * 2**20


def test_a_state_folder_that_others_can_enter_is_refused(state):
    state.mkdir(mode=0o755)
    with pytest.raises(CommandError, match="chmod 700"):
        read_settings()


def test_the_hub_needs_its_proxy_and_learners(state, monkeypatch):
    settings = read_settings()
    monkeypatch.setattr(checks, "closed_folder", lambda path: None)
    monkeypatch.setattr(checks.shutil, "which", lambda name: None)
    with pytest.raises(CommandError, match="npm install"):
        checks.check_machine(settings)
    monkeypatch.setattr(checks.shutil, "which", lambda name: name)
    with pytest.raises(CommandError, match="no learners"):
        checks.check_machine(settings)
    add(state / FILE, ["ada"])
    checks.check_machine(settings)


def test_too_many_places_for_the_memory_of_the_machine_are_reported(monkeypatch):
    gigabytes = {"SC_PHYS_PAGES": 32 * 10**9 // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(checks.os, "sysconf", gigabytes.__getitem__)
    assert checks.memory_warning(30) == ""
    assert "COURSE_HUB_PLACES=31" in checks.memory_warning(31) and "33 GB" in checks.memory_warning(31)


def test_a_folder_that_learners_cannot_enter_is_found(tmp_path):
    inside = tmp_path / "closed" / "course"
    inside.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    closed = checks.closed_folder(inside)
    assert closed is not None and (
        closed == tmp_path / "closed" or closed in tmp_path.parents or closed == tmp_path
    )
    assert checks.closed_folder(Path("/usr/bin")) is None


def test_the_hub_ends_with_a_sentence_if_it_cannot_start(state):
    pytest.importorskip("jupyterhub")
    command = [
        sys.executable,
        "-P",
        "-m",
        "jupyterhub",
        "-f",
        PROJECT_ROOT / "hosting" / "jupyterhub_config.py",
    ]
    variables = os.environ | {"COURSE_HUB_MEMORY": "much", "PYTHONPATH": str(PROJECT_ROOT)}
    done = subprocess.run(
        command, cwd=state.parent, env=variables, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-2].startswith("COURSE_HUB_MEMORY is 'much'")
    assert "Traceback" not in done.stderr
