"""What stands around every table of figures: the machine before it, the verdicts after it.

    >>> print(machine("torch"))
    Linux x86_64, 8 cores, load 0.4, Python 3.12.3, torch 2.13.0
    >>> conclude([Verdict(True, "within 3 s: 1.6 s")])
    <BLANKLINE>
    pass  within 3 s: 1.6 s
    0

A figure without its machine says nothing, and a target missed on a busy one says little.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple


class Verdict(NamedTuple):
    """Whether a target is met, and the target with what was measured."""

    good: bool
    text: str


def machine(*packages: str) -> str:
    """The machine, how busy it is, and the versions that matter, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load():.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )


def load() -> float:
    """How many programs wanted a core in the last minute; Windows does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def conclude(verdicts: Sequence[Verdict]) -> int:
    """Print the verdicts; 0 when every target that was measured is met."""
    print("", *(f"{'pass' if good else 'MISS'}  {text}" for good, text in verdicts), sep="\n")
    missed = not all(good for good, _ in verdicts)
    if missed and load() > (os.cpu_count() or 1):
        print(f"\nThe machine was busy (load {load():.1f}): measure again when nothing else runs.")
    return int(missed)
