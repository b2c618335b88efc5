"""What every bench shares: the machine it runs on, ways that are timed in turn, a table of what came out.

    >>> print(machine("torch"))
    Linux x86_64, 8 cores, load 0.4, Python 3.12.3, torch 2.13.0
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
from statistics import median

import torch


def machine(*packages: str) -> str:
    """The machine, how many programs wanted a core in the last minute, and the versions that matter."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0  # Windows does not say
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )


def in_turn(
    ways: Mapping[str, Callable[[], object]], *, rounds: int, device: torch.device
) -> dict[str, float]:
    """The median seconds of each way, by the clock on the wall, after one round to warm up.

    All take turns, so that a busy moment of the machine meets them all.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, work in ways.items():
            taken[name].append(seconds(work, device))
    return {name: median(each[1:]) for name, each in taken.items()}


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """The seconds it takes. A GPU, which works behind our back, is waited for."""
    _wait_for(device)
    start = time.perf_counter()
    work()
    _wait_for(device)
    return time.perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for the screen: names at the left, figures at the right of their columns."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for name, *figures in (head, *rows):
        cells = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)
