"""The CPU time of each lesson's first code cell: `python3 -m course_lib bench start`.

                 CPU s  × torch
    import torch  1.47     1.00
    06            2.30     1.56

Nothing in a lesson appears before this cell has run, and almost every lesson needs torch. So the aim is that
a first cell costs at most `AIM` times as much as `import torch`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat

from course_lib.runtime import PROJECT_ROOT
from lessons.l17_what_it_costs.timing import columns, conditions, in_turn
from tools.authoring.build import choose
from tools.authoring.lesson import sources
from tools.cli.environment import CommandError

TORCH = "import torch"
AIM = 1.6
ROUNDS = 3

ABOUT = f"""\
CPU seconds of a new Python process with one thread, without Jupyter, that runs the first code cell of a
notebook; and how many times as long that is as `{TORCH}`. The shortest of {ROUNDS} rounds, in which all take
turns. A first cell should take at most {AIM} times as long."""


def run(names: Sequence[str] = (), root: Path = PROJECT_ROOT) -> dict[str, float]:
    """Measure these lessons (default: all); print a table and return the ratios."""
    if sys.platform == "win32":
        raise CommandError("Expected Linux or macOS: Windows doesn't say how much CPU time a process took.")
    paths, problems = choose(sources(root), names)
    if problems:
        raise CommandError(*problems)
    print(conditions("torch"), "", ABOUT, "", sep="\n", flush=True)
    with TemporaryDirectory() as home:
        ways = {TORCH: starter(TORCH, root, home)}
        ways |= {path.parent.name[1:3]: starter(first_cell(path, root), root, home) for path in paths}
        times = in_turn(ways, rounds=ROUNDS, clock=cpu_of_children)
    least = {name: min(seconds) for name, seconds in times.items()}
    ratios = {name: seconds / least[TORCH] for name, seconds in least.items()}
    rows = [[name, f"{least[name]:.2f}", f"{ratio:.2f}"] for name, ratio in ratios.items()]
    print(columns(["", "CPU s", "× torch"], rows))
    return ratios


def first_cell(source: Path, root: Path) -> str:
    """The code of the first code cell in the learner's notebook of this lesson."""
    notebook = nbformat.read(root / "notebooks" / f"{source.parent.name[1:]}.ipynb", as_version=4)
    return next(cell.source for cell in notebook.cells if cell.cell_type == "code")


def starter(code: str, root: Path, home: str) -> Callable[[], object]:
    """Runs the code in a new process; `home` is for its progress file."""
    env = os.environ | {"COURSE_HOME": home, "OMP_NUM_THREADS": "1"}
    return partial(subprocess.run, [sys.executable, "-c", code], cwd=root, env=env, check=True)


def cpu_of_children() -> float:
    """User and system time of all processes that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system
