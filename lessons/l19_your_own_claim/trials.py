"""Trials of a rule: every system without it and with it, from recorded, cached or new runs.

trial = run_trial(mirror, {"transformer": "transformer", "bahdanau": "bahdanau"})
trial.tables()["with"]["rule"]["bahdanau"]              # a percentage for each seed
trial.runs["with"]["bahdanau"][0]["wrong"]["test"]      # wrong translations, by the index of the sentence
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from course_lib.results import runs as results
from course_lib.runtime import write_json
from course_lib.translation.comparison import CLAIMS, Interval, Rows, compare, resampled
from lessons.l19_your_own_claim.corpus import NEW_SETS, TEST_SETS, fingerprint
from lessons.l19_your_own_claim.rules import RULES, Rule
from lessons.l19_your_own_claim.scores import SeedTable, lost_by_sentence, points_lost, score_table
from lessons.l19_your_own_claim.systems import N_STEPS, Make, Outcome, train_and_test

EXPERIMENTS = ("claims", "claims_again", "claims_confirmed")  # in data/results: seeds 0 to 2, 3 to 5, 6 to 8


@dataclass(frozen=True)
class Trial:
    """`runs["with"]["bahdanau"]` has the outcome of each seed: what was right, and wrong translations."""

    rule: Rule
    seeds: tuple[int, ...]
    runs: dict[str, dict[str, list[Outcome]]]

    def tables(self, *, new: bool = False) -> dict[str, SeedTable]:
        """The scores without the rule and with it, on the test sentences or on the new ones."""
        return {name: score_table(runs, self.rule, new=new) for name, runs in self.runs.items()}

    def lost_by_sentence(self, split: str, system: str, *, new: bool = False) -> Rows:
        """The points that each run of a system loses on each sentence of a split."""
        without, with_rule = (self.runs[name][system] for name in ("without", "with"))
        return lost_by_sentence(without, with_rule, self.rule, split, new=new)

    def judge(self, claim: Mapping[str, Any], *, new: bool = False) -> tuple[str, Interval]:
        """What becomes of a claim by the course's rule, and the 95% interval over runs and sentences."""
        on, names, tables = claim["on"], (claim["breaks"], claim["more_than"]), self.tables(new=new)
        samples = tuple(resampled(self.lost_by_sentence(on, name, new=new)) for name in names)
        lost = [points_lost(tables, on, name) for name in names]
        found = compare(*lost, by=claim["points"], samples=samples)
        return CLAIMS[found.verdict], found.interval


def is_complete(outcome: object, *, with_new: bool) -> bool:
    """Whether an outcome, perhaps from a damaged file, has everything that a run has."""
    names = {*TEST_SETS, *(NEW_SETS if with_new else ())}
    return isinstance(outcome, dict) and all(
        isinstance(outcome.get(key), dict) and names <= set(outcome[key]) for key in ("right", "wrong")
    )


def recorded_run(
    system: str | Make, rule: Rule | None, seed: int, *, with_new: bool = False
) -> Outcome | None:
    """The run in data/results, if there is one; with `with_new`, one that has the new sentences."""
    name = next((name for name, known in RULES.items() if known is rule), "no rule" if rule is None else "")
    for run in (run for experiment in EXPERIMENTS for run in results(experiment)):
        is_it = run["variant"] == f"{system}, {name}" and run["seed"] == seed
        if is_it and is_complete(run, with_new=with_new):
            return {key: run[key] for key in ("right", "wrong")}
    return None


def cache_file(
    system: str | Make, rule: Rule | None, seed: int, n_steps: int, folder: Path, *, with_new: bool = False
) -> Path | None:
    """Where a run is cached; None for a system of the learner's own, whose code may have changed since."""
    if not isinstance(system, str):
        return None
    identity = f"{fingerprint(rule, new=with_new)} {system} {seed} {n_steps}"
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return folder / f"{system}_{seed}_{key}.json"


def cached_run(file: Path | None, *, with_new: bool) -> Outcome | None:
    """The outcome in a file; None if there is none, or if it is damaged."""
    try:
        outcome = json.loads(file.read_text(encoding="utf-8")) if file else None
    except (OSError, ValueError):
        return None
    return outcome if is_complete(outcome, with_new=with_new) else None


def run_trial(
    rule: Rule,
    systems: Mapping[str, str | Make],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    n_steps: int = N_STEPS,
    with_new: bool = False,
    folder: Path | None = None,
    tell: Callable[[str], None] = print,
) -> Trial:
    """Every system without the rule and with it; `with_new` also tests them on the new sentences.

    Runs of full length that are in data/results are read from there. The others are made and cached in
    `folder`, so that a trial that is stopped can be resumed.
    """
    runs: dict[str, dict[str, list[Outcome]]] = {}
    for name, applied in (("without", None), ("with", rule)):
        runs[name] = {label: [] for label in systems}
        for label, seed in product(systems, seeds):
            system = systems[label]
            outcome = recorded_run(system, applied, seed, with_new=with_new) if n_steps == N_STEPS else None
            source, file = "on record", None
            if outcome is None:
                file = (
                    cache_file(system, applied, seed, n_steps, folder, with_new=with_new) if folder else None
                )
                outcome, source = cached_run(file, with_new=with_new), "from an earlier trial"
            tell(f"{label}, {name} the rule, seed {seed}: {source if outcome else 'training'}")
            if outcome is None:
                outcome = train_and_test(system, applied, seed=seed, n_steps=n_steps, with_new=with_new)
                if file:
                    write_json(file, outcome)
            runs[name][label].append(outcome)
    return Trial(rule, tuple(seeds), runs)
