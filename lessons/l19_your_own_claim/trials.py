"""Trials of a rule: every system without it and with it, from recorded, cached or new runs.

tables = run_trial(mirror, {"transformer": "transformer", "bahdanau": "bahdanau"})
tables["with"]["rule"]["bahdanau"]                      # a percentage for each seed
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

from course_lib.results import runs as results
from course_lib.runtime import write_json
from lessons.l19_your_own_claim.corpus import fingerprint
from lessons.l19_your_own_claim.rules import RULES, Rule
from lessons.l19_your_own_claim.scores import SeedTable, score_table
from lessons.l19_your_own_claim.systems import N_STEPS, Correct, Make, train_and_test

EXPERIMENTS = ("claims", "claims_again")  # in data/results: seeds 0 to 2, and 3 to 5


def recorded_run(system: str | Make, rule: Rule | None, seed: int) -> Correct | None:
    """The run in data/results, if there is one."""
    name = next((name for name, known in RULES.items() if known is rule), "no rule" if rule is None else "")
    for run in (run for experiment in EXPERIMENTS for run in results(experiment)):
        if run["variant"] == f"{system}, {name}" and run["seed"] == seed:
            return run["right"]
    return None


def cache_file(system: str | Make, rule: Rule | None, seed: int, n_steps: int, folder: Path) -> Path | None:
    """Where a run is cached; None for a system of the learner's own, whose code may have changed since."""
    if not isinstance(system, str):
        return None
    key = hashlib.sha256(f"{fingerprint(rule)} {system} {seed} {n_steps}".encode()).hexdigest()[:16]
    return folder / f"{system}_{seed}_{key}.json"


def run_trial(
    rule: Rule,
    systems: Mapping[str, str | Make],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    n_steps: int = N_STEPS,
    folder: Path | None = None,
    tell: Callable[[str], None] = print,
) -> dict[str, SeedTable]:
    """The scores of every system without the rule and with it: {"without": table, "with": table}.

    Runs of full length that are in data/results are read from there. The others are made and cached in
    `folder`, so that a trial that is stopped can be resumed.
    """
    tables: dict[str, SeedTable] = {}
    for name, applied in (("without", None), ("with", rule)):
        runs: dict[str, list[Correct]] = {label: [] for label in systems}
        for label, seed in product(systems, seeds):
            system = systems[label]
            correct = recorded_run(system, applied, seed) if n_steps == N_STEPS else None
            file = cache_file(system, applied, seed, n_steps, folder) if folder else None
            source = "on record" if correct else "kept" if file and file.exists() else "a run"
            tell(f"{label}, {name} the rule, seed {seed}: {source}")
            if source == "kept":
                correct = json.loads(file.read_text(encoding="utf-8"))
            elif source == "a run":
                correct = train_and_test(system, applied, seed=seed, n_steps=n_steps)["right"]
                if file:
                    write_json(file, correct)
            runs[label].append(correct)
        tables[name] = score_table(runs, rule)
    return tables
