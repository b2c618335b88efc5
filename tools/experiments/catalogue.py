"""The experiments that lessons quote, by name. This module runs nothing and doesn't import torch.

`data/experiments.json` holds them: a question, the expected answer, and variants, each of which says how it
differs from the default system or hyperparameters ("keep": also store the weights of the first seed, under
this name or else under that of the system).

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
from lessons.l19_your_own_claim import forty_rules

GROUPS = {"translators": translators, "language models": language_models}


@dataclass(frozen=True)
class Experiment:
    """A question and the runs that answer it. `variants`: the changes that each makes, by name.

    `page`: what was found, and what data/results/README.md shows of it (`page.py`).
    """

    name: str
    lesson: str
    asks: str
    expected: str
    kind: str
    seeds: tuple[int, ...]
    variants: Mapping[str, Mapping[str, Any]]
    page: Mapping[str, Any]


@cache
def experiments() -> dict[str, Experiment]:
    entries = json.loads(data_path("experiments.json").read_text(encoding="utf-8"))
    return {name: read_entry(name, dict(entry)) for name, entry in entries.items()}


def results_file(out: Path, name: str, n_steps: int | None) -> Path:
    """The file for the runs of an experiment; a trial with fewer steps has a file of its own.

    >>> results_file(Path("runs"), "positions", 200).name
    'positions_200_steps.json'
    """
    return out / f"{name}{f'_{n_steps}_steps' if n_steps else ''}.json"


def kept_name(changes: Mapping[str, Any]) -> str | None:
    """The name under which the weights of a variant are kept, if they are.

    >>> kept_name({"system": "luong_dot", "keep": True}), kept_name({"system": "luong_dot"})
    ('luong_dot', None)
    """
    keep = changes.get("keep")
    return keep if isinstance(keep, str) else changes["system"] if keep else None


def read_entry(name: str, entry: dict[str, Any]) -> Experiment:
    """`systems` makes one variant per system, and `rules` one without a rule and one for each of lesson 19's
    forty; the changes under `same` apply to every variant."""
    group, same, variants = entry.pop("systems", []), entry.pop("same", {}), entry.pop("variants", {"": {}})
    systems = [system.name for system in GROUPS[group]()] if isinstance(group, str) else group
    if entry.pop("rules", None) == "all":
        variants = {"no rule": {}} | {rule: {"rule": rule} for rule in forty_rules.RULES}
    if systems:
        variants = {
            f"{system}, {label}" if label else system: {"system": system, **changes}
            for system in systems
            for label, changes in variants.items()
        }
    variants = {label: merge_changes(same, changes) for label, changes in variants.items()}
    defaults = {"kind": "train", "seeds": (0, 1, 2), "page": {}}
    return Experiment(name=name, variants=variants, **defaults | entry)


def merge_changes(same: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge both, including the dictionaries inside, such as {"config": {...}}."""
    merged = dict(same)
    for key, value in changes.items():
        merged[key] = {**merged[key], **value} if isinstance(merged.get(key), dict) else value
    return merged
