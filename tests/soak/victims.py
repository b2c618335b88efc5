"""What the killed processes do. They are forked from a server that has loaded everything already, so they
don't inherit the environment of the test.

A victim that saves one thing after another writes the number of each to `done` as soon as it is saved.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path
from unittest.mock import patch

from course_lib.teaching import progress
from course_lib.teaching.own_code.kept_file import KeptFunction, write_function
from tests.tools.authoring.made_up import TINY, MadeUpCourse
from tools.authoring import execute
from tools.cli import commands

PAIRS = "the cat sleeps\tle chat dort\na dog eats the water\tun chien mange l' eau\n" * 20
N_STEPS = 60
N_NAMES = 5


def nothing(folder: Path, number: int) -> None:
    """The first process takes long to start."""


def train(folder: Path, number: int) -> None:
    os.environ["COURSE_BAR"] = "0"
    (folder / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    options = f"--scale tiny --device cpu --steps {N_STEPS} --seed 1 --folder {folder}/run".split()
    sys.stdout = sys.stderr = (folder / f"printed{number}").open("w")
    with patch.object(commands, "ensure", lambda *_: None):
        sys.exit(commands.run_command(["train", "gru_lm", "--data", str(folder / "pairs.tsv"), *options]))


def build(folder: Path, number: int) -> None:
    """Build one lesson again and again, each time with another text. Its cells have been run before."""
    course = object.__new__(MadeUpCourse)
    course.root = folder / "project"

    async def outputs_of(draft, edition, folder):
        cells = [cell for cell in draft.cells[edition] if cell.form == "code"]
        return [[{"name": "stdout", "output_type": "stream", "text": "seven: 7\n"}] for _ in cells]

    with patch.object(execute, "execute", outputs_of):
        for version in count():
            course.write(TINY.replace("All is built.", f"All is built, {version} times."))
            course.build()
            say_done(folder, version)


def record(folder: Path, number: int) -> None:
    os.environ["COURSE_HOME"] = str(folder)
    for version in range(10_000) if number == 0 else range(60):
        progress.record({"kind": "goal", "name": f"{number}/{version}", "text": "x" * (version % 400)})
        say_done(folder, version)


def save(folder: Path, number: int) -> None:
    os.environ["COURSE_HOME"] = str(folder)
    for version in range(10_000) if number == 0 else range(20):
        name = f"f{number}_{version % N_NAMES}"
        source = f"def {name}():\n    return {version}\n# " + "x" * (version % 400)
        write_function(KeptFunction(name, "08", "2026-11-17", source))
        say_done(folder, version)


def say_done(folder: Path, version: int) -> None:
    handle = os.open(folder / "done", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{version}\n".encode())
    os.close(handle)
