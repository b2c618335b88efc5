"""The experiments that lessons quote, by name. Nothing is run here, and no torch is loaded.

`data/experiments.json` holds them: a question, what was expected, and variants, each of which says how it
differs from the usual system or recipe ("keep": the weights of its first seed are kept too).

    >>> experiments()["positions"].variants["none"]["config"]
    {'positions': 'none'}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.models.registry import language_models, translators
from course_lib.runtime import data_path

GROUPS = {"translators": translators, "language models": language_models}


@dataclass(frozen=True)
class Experiment:
    """A question and the runs that answer it. `variants`: what each changes, by name."""

    name: str
    lesson: str
    asks: str
    expected: str
    kind: str
    seeds: tuple[int, ...]
    variants: Mapping[str, Mapping[str, Any]]


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    table = json.loads(data_path("experiments.json").read_text(encoding="utf-8"))
    return {name: _read(name, dict(kept)) for name, kept in table.items()}


def results_file(out: Path, name: str, n_steps: int | None) -> Path:
    """Where the runs of an experiment are kept; a trial in fewer steps has a file of its own.

    >>> results_file(Path("runs"), "positions", 200).name
    'positions_200_steps.json'
    """
    return out / f"{name}{f'_{n_steps}_steps' if n_steps else ''}.json"


def _read(name: str, kept: dict[str, Any]) -> Experiment:
    """`systems` makes a variant of each system; what stands under `same` belongs to every variant."""
    group, same, variants = kept.pop("systems", []), kept.pop("same", {}), kept.pop("variants", {"": {}})
    systems = [one.name for one in GROUPS[group]()] if isinstance(group, str) else group
    if systems:
        variants = {
            f"{system}, {label}" if label else system: {"system": system, **changes}
            for system in systems
            for label, changes in variants.items()
        }
    variants = {label: _joined(same, changes) for label, changes in variants.items()}
    usual = {"kind": "train", "seeds": (0, 1, 2)}
    return Experiment(name=name, variants=variants, **usual | kept)


def _joined(same: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Both, entry by entry: {"config": {...}} of the one and of the other become one."""
    joined = dict(same)
    for key, value in changes.items():
        joined[key] = {**joined[key], **value} if isinstance(joined.get(key), dict) else value
    return joined
