"""Which packages the course needs, whether the running interpreter has them, and which ones are installed.

    >>> needed("training")["torch"]                         # a range: what can be used (pyproject.toml)
    '>=2.11,<3'
    >>> [line for line in requirements("training") if line.startswith("torch")]     # what gets installed
    ['torch==2.13.0']
    >>> missing("training")
    []

A machine that has a good enough torch already keeps it: Colab, a GPU machine without a network.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]  # runtime.PROJECT_ROOT, which costs an import of torch

STAGES = ("training", "lab", "test")  # each holds what the ones before it hold
LINE = re.compile(r"([\w.-]+?)((?:>=|<|==).+)")


def project(root: Path = PROJECT_ROOT) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def needed(stage: str, root: Path = PROJECT_ROOT) -> dict[str, str]:
    """Each package that a stage needs, with the versions that will do: {"numpy": ">=2.0,<3"}."""
    content = project(root)["project"]
    lines = list(content["dependencies"])
    for extra in STAGES[1 : STAGES.index(stage) + 1]:
        lines += content["optional-dependencies"][extra]
    return dict(LINE.fullmatch(line).groups() for line in lines)


def pinned(root: Path = PROJECT_ROOT) -> dict[str, str]:
    """The one version of every package that a set-up installs: {"numpy": "2.4.6"}."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def requirements(stage: str, root: Path = PROJECT_ROOT) -> list[str]:
    """The lines to install for a stage, with what builds the project itself: ["torch==2.13.0", ...]."""
    pins, builds = pinned(root), project(root)["build-system"]["requires"]
    return [f"{name}=={pins[name]}" for name in needed(stage, root)] + builds


def missing(stage: str, root: Path = PROJECT_ROOT) -> list[str]:
    """What this interpreter lacks: ["numpy >=2.0,<3 (has 1.26.4)"]. Looks at metadata, imports nothing."""
    lacking = []
    for name, wanted in needed(stage, root).items():
        try:
            found = version(name)
        except PackageNotFoundError:
            lacking.append(f"{name} {wanted}")
            continue
        if not admits(wanted, found):
            lacking.append(f"{name} {wanted} (has {found})")
    return lacking


def admits(wanted: str, found: str) -> bool:
    """Whether a version is within a range of ours: only >=, < and == are written, joined by commas.

    >>> admits(">=2.11,<3", "2.13.0+cpu"), admits(">=2.11,<3", "2.9.1"), admits(">=2.11,<3", "3.0.0")
    (True, False, False)
    """
    has = _release(found)
    for part in wanted.split(","):
        sign, number = re.fullmatch(r"(>=|<|==)([\d.]+)", part).groups()
        bound = _release(number)
        if not {">=": has >= bound, "<": has < bound, "==": has == bound}[sign]:
            return False
    return True


def _release(number: str) -> tuple[int, ...]:
    """(2, 13) of 2.13.0+cpu: zeros at the end do not count, nor what a local build or a candidate adds."""
    parts = [int(part) for part in re.match(r"\d+(?:\.\d+)*", number)[0].split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def fingerprint(root: Path = PROJECT_ROOT) -> str:
    """A hash of everything that decides what an environment holds; other lines of pyproject do not count."""
    content = project(root)
    deciding = [
        content["project"]["dependencies"],
        content["project"]["optional-dependencies"],
        content["project"]["scripts"],
        content["build-system"]["requires"],
        (root / "constraints.txt").read_text(encoding="utf-8"),
    ]
    return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:16]
