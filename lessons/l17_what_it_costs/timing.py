"""The one timer of all benches, the conditions it ran under, and a table of what came out.

    conditions("torch")         # Linux x86_64, 8 cores, load 0.4, Python 3.12.3, torch 2.13.0

    >>> print(columns(["", "seconds"], [["cached", "0.90"], ["recomputed", "12.00"]]))
                seconds
    cached         0.90
    recomputed    12.00

A bench informs. A figure without its machine says nothing, and on a busy one it says little.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

import torch


def conditions(*packages: str) -> str:
    """The machine, how many programs wanted a core in the last minute, and the versions that matter."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0  # Windows does not say
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a piece of work takes; a GPU is waited for."""
    start = clock()
    work()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock() - start


def in_turn(
    ways: Mapping[str, Callable[[], object]], *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """The seconds of each way in every round, after one to warm up.

    All take turns, so that a busy moment of the machine meets them all.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, work in ways.items():
            taken[name].append(seconds(work, clock))
    return {name: each[1:] for name, each in taken.items()}


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for the screen: names at the left, figures at the right of their columns."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for name, *figures in (head, *rows):
        cells = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)
