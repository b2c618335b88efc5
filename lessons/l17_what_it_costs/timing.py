"""The timer of lesson 17 and of all benches in tools/bench, the conditions of a run, and a table of times.

    conditions("torch")         # Linux x86_64, 8 cores, load 0.4, Python 3.12.3, torch 2.13.0

    >>> print(columns(["", "seconds"], [["cached", "0.90"], ["recomputed", "12.00"]]))
                seconds
    cached         0.90
    recomputed    12.00

`tools/bench` imports it from here: the lesson times with the same code as `course_lib bench`. A measured time
means little without its machine and its load, so print `conditions` with it.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

import torch


def conditions(*packages: str) -> str:
    """The machine, its load in the last minute, and the versions of these packages."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0  # not known on Windows
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The time that a piece of work takes, with what it started on a GPU."""
    start = clock()
    work()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock() - start


def in_turn(
    ways: Mapping[str, Callable[[], object]], *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """The seconds of each way in every round, after a round to warm up.

    All ways take turns, so that a busy moment of the machine affects them all.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, work in ways.items():
            times[name].append(seconds(work, clock))
    return {name: of_one[1:] for name, of_one in times.items()}


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for the screen: names aligned left, figures aligned right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for name, *figures in (head, *rows):
        cells = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)
