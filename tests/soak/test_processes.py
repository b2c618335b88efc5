"""Processes killed at any moment, and two at once on the same files: nothing is lost or half written.

To add a scenario, write what the victim does in victims.py, and what must be true afterwards in SCENARIOS.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from course_lib.teaching import progress
from course_lib.teaching.own_code.kept_file import read_kept_file
from course_lib.training.checkpoint import load_checkpoint
from tests.soak import victims
from tests.tools.authoring.made_up import MadeUpCourse

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.soak.victims", "course_lib.training.job", "tools.train_system"])


def start(work: Callable[[Path, int], None], folder: Path, number: int = 0):
    process = PROCESSES.Process(target=work, args=(folder, number), daemon=True)
    process.start()
    return process


def kill_after(seconds: float, work: Callable[[Path, int], None], folder: Path) -> None:
    process = start(work, folder)
    process.join(seconds)
    process.kill()
    process.join()


def n_done(folder: Path) -> int:
    """How many things a victim says it saved."""
    return len((folder / "done").read_text().split()) if (folder / "done").exists() else 0


# ---- what must be true afterwards


def trained_to_the_end(folder: Path, whole: Path) -> None:
    """Resumed by the same command, the run ends with the weights of an uninterrupted one, bit for bit."""
    process = start(victims.train, folder)
    process.join()
    assert process.exitcode == 0, (folder / "printed0").read_text()[-500:]
    same_weights(folder, whole)


def same_weights(folder: Path, whole: Path) -> None:
    for name in ("last.safetensors", "best.safetensors"):
        ours, theirs = (load_checkpoint(parent / "run" / name)[0] for parent in (folder, whole))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs), f"{name} differs"


def built_old_or_new(folder: Path, whole: Path) -> None:
    for path in (folder / "project").rglob("42_tiny.ipynb"):
        text = "".join(
            line for cell in json.loads(path.read_text("utf-8"))["cells"] for line in cell["source"]
        )
        versions = [f"All is built, {version} times." for version in range(n_done(folder) + 1)]
        assert any(version in text for version in versions[-2:]), f"neither old nor new: {path.name}"


def recorded_all(folder: Path, whole: Path) -> None:
    names = [event["name"] for event in progress.read().events]
    n = n_done(folder)
    assert names[:n] == [f"0/{version}" for version in range(n)] and len(names) <= n + 1
    progress.record({"kind": "goal", "name": "after"})
    assert [event["name"] for event in progress.read().events] == [*names, "after"]


def saved_all(folder: Path, whole: Path) -> None:
    _, functions = read_kept_file()
    n = n_done(folder)
    saved = {row.name: int(row.source.split("return ")[1].split()[0]) for row in functions}
    for version in range(max(0, n - victims.N_NAMES), n):
        assert saved[f"f0_{version % victims.N_NAMES}"] in (version, n), "a saved function was lost"


SCENARIOS = {  # what is killed; how often; what must be true then
    "training": (victims.train, 40, trained_to_the_end),
    "building a notebook": (victims.build, 20, built_old_or_new),
    "recording progress": (victims.record, 20, recorded_all),
    "saving own functions": (victims.save, 20, saved_all),
}
WEIGHTS = {"training": 8, "building a notebook": 3}


@pytest.fixture
def folder(tmp_path) -> Path:
    start(victims.nothing, tmp_path).join()
    return tmp_path


def fresh(folder: Path, name: str) -> Path:
    path = folder / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def whole_run(folder: Path) -> tuple[Path, float]:
    """An uninterrupted training run, and how long it took."""
    whole, before = fresh(folder, "whole"), time.monotonic()
    trained = start(victims.train, whole)
    trained.join()
    assert trained.exitcode == 0, (whole / "printed0").read_text()[-500:]
    return whole, time.monotonic() - before


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak(weight=WEIGHTS.get(name, 1))) for name in SCENARIOS]
)
def test_killed_while(soak, folder, monkeypatch, name):
    work, n, verify = SCENARIOS[name]
    whole, longest = whole_run(folder) if name == "training" else (folder, 1.5)

    def kill(number):
        moments = random.Random(number)
        home = fresh(folder, "home")
        monkeypatch.setenv("COURSE_HOME", str(home))
        if name == "building a notebook":
            MadeUpCourse(home / "project")
        for _ in range(moments.choice([1, 1, 2]) if name == "training" else 1):
            kill_after(moments.uniform(0, longest), work, home)
        verify(home, whole)

    soak.each(soak.seeds(n), kill, limit=120)


# ---- two at once


def both(folder: Path, work: Callable[[Path, int], None], delay: float) -> list[int]:
    processes = [start(work, folder, 1)]
    time.sleep(delay)
    processes.append(start(work, folder, 2))
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


@pytest.mark.soak(weight=2)
def test_two_processes_at_once(soak, folder, monkeypatch):
    whole, seconds = whole_run(folder)

    def run(number):
        home, delay = fresh(folder, "home"), random.Random(number).uniform(0, 1.2)
        monkeypatch.setenv("COURSE_HOME", str(home))
        assert both(home, victims.record, delay / 10) == [0, 0]
        names = [event["name"] for event in progress.read().events]
        assert sorted(names) == sorted(f"{who}/{version}" for who in (1, 2) for version in range(60))
        assert both(home, victims.save, delay / 10) == [0, 0]
        assert len(read_kept_file()[1]) == 2 * victims.N_NAMES
        codes = both(home, victims.train, delay * seconds)
        assert codes[0] == 0 and codes[1] in (0, 1), codes
        printed = (home / "printed2").read_text()
        assert codes[1] == 0 or "nother process" in printed, printed[-500:]
        same_weights(home, whole)

    soak.each(soak.seeds(20), run, limit=180)
