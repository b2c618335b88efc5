"""Which packages the course needs (pyproject.toml says), and whether the running interpreter has them.

>>> needed("runtime")["torch"]
'2.13.0'
>>> missing("runtime")
[]
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]  # runtime.PROJECT_ROOT, which costs an import of torch
CONSTRAINTS = PROJECT_ROOT / "constraints.txt"

STAGES = ("runtime", "test")  # each holds what the ones before it hold


def project(root: Path = PROJECT_ROOT) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(stage: str, root: Path = PROJECT_ROOT) -> list[str]:
    """The lines to install for a stage, with what builds the project itself: ["torch==2.13.0", ...]."""
    content = project(root)
    extra = content["project"]["optional-dependencies"]["test"] if stage == "test" else []
    return content["project"]["dependencies"] + extra + content["build-system"]["requires"]


def needed(stage: str, root: Path = PROJECT_ROOT) -> dict[str, str]:
    """Name and version of each package a stage needs to run. Every pin of ours is a plain `name==version`."""
    content = project(root)["project"]
    extra = content["optional-dependencies"]["test"] if stage == "test" else []
    return dict(line.split("==") for line in content["dependencies"] + extra)


def missing(stage: str, root: Path = PROJECT_ROOT) -> list[str]:
    """What the running interpreter lacks: ["numpy 2.4.6 (has 2.4.5)"]. Looks at metadata, imports nothing."""
    lacking = []
    for name, wanted in needed(stage, root).items():
        try:
            found = version(name)
        except PackageNotFoundError:
            lacking.append(f"{name} {wanted}")
            continue
        if found.partition("+")[0] != wanted:  # 2.13.0+cpu is a 2.13.0
            lacking.append(f"{name} {wanted} (has {found})")
    return lacking


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
