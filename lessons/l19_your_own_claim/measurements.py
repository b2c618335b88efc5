"""Numbers that lesson 19 quotes, computed from the recorded runs of `claims` and `claims_again`."""

from __future__ import annotations

from statistics import mean

from course_lib.teaching.exercises import find_exercise
from lessons.l19_your_own_claim.corpus import TEST_SETS, small_world, split_sizes
from lessons.l19_your_own_claim.rules import Rule, concerns, even, mirror
from lessons.l19_your_own_claim.scores import SeedTable, by_length, points_lost
from lessons.l19_your_own_claim.systems import make_system
from lessons.l19_your_own_claim.trials import recorded_run, run_trial

FIRST, FRESH = (0, 1, 2), (3, 4, 5)  # seeds
SYSTEMS = ("bahdanau", "transformer", "convs2s", "no positions")
VOCABULARY = 236  # of the small world without a rule


def measure() -> dict:
    return {
        "small world": measure_world(),
        "parameters": {name: n_parameters(name) for name in SYSTEMS},
        "percent without a rule": {name: percent_without_rule(name) for name in SYSTEMS},
        "mirror": measure_claim(mirror, "transformer", "bahdanau", "rule", FIRST),
        "mirror again": measure_claim(mirror, "transformer", "bahdanau", "rule", FRESH),
        "even": measure_claim(even, "no positions", "transformer", "rule", FIRST),
        "even again": measure_claim(even, "transformer", "no positions", "rest", FRESH),
        "even by length": {name: percent_by_length(name) for name in ("transformer", "no positions")},
    }


def measure_world() -> dict[str, object]:
    world = small_world()
    return {
        "sizes": {name: len(pairs) for name, pairs in vars(world).items()},
        "of 3 and 4 words": sum(len(pair.src) < 5 for pair in world.test),
        "mirror in training": sum(concerns(mirror, pair) for pair in world.train),
    }


def n_parameters(system: str) -> int:
    return sum(weight.numel() for weight in make_system(system, VOCABULARY).parameters())


def percent_without_rule(system: str) -> dict[str, float]:
    """Percent of the test sentences that are correct, mean over the seeds."""
    runs = [recorded_run(system, None, seed) for seed in FIRST]
    return {name: mean(100 * run[name].count("1") / len(run[name]) for run in runs) for name in TEST_SETS}


def percent_by_length(system: str) -> dict[str, dict[str, float]]:
    """Percent by the number of English words, mean over all seeds, without the rule `even` and with it."""
    percents = {}
    for name, rule in (("without", None), ("with", even)):
        seeds = [by_length(recorded_run(system, rule, seed)) for seed in (*FIRST, *FRESH)]
        percents[name] = {str(length): mean(seed[length] for seed in seeds) for length in seeds[0]}
    return percents


def recorded_tables(rule: Rule, systems: tuple[str, ...], seeds: tuple[int, ...]) -> dict[str, SeedTable]:
    """The tables of a trial whose runs are all in data/results."""

    def check(line: str) -> None:
        if not line.endswith("on record"):
            raise LookupError(f"{line}: there is no such run in data/results")

    return run_trial(rule, {name: name for name in systems}, seeds=seeds, tell=check)


def measure_claim(rule: Rule, breaks: str, more_than: str, on: str, seeds: tuple[int, ...]) -> dict:
    """The gap between two systems on a split, and the points that each of them loses on every split."""
    tables = recorded_tables(rule, (breaks, more_than), seeds)
    prediction = {"breaks": breaks, "more_than": more_than, "on": on, "points": 0}
    outcome = find_exercise("verdict").reference(prediction, tables)
    return {
        "sizes": split_sizes(rule),
        "gap": {key: outcome[key] for key in ("least", "most")} | below_zero(outcome["least"]),
        "gap by pairs of seeds": paired_gap(tables, breaks, more_than, on),
        "without": {name: sorted(tables["without"][on][name]) for name in (breaks, more_than)},
        "lost": {
            name: {split: losses(tables, split, name) for split in tables["with"]}
            for name in (breaks, more_than)
        },
    }


def losses(tables: dict[str, SeedTable], split: str, system: str) -> dict[str, object]:
    """The points that a system loses on a split, and its mean percentage before."""
    points = points_lost(tables, split, system)
    summary = {"min": min(points), "max": max(points), "mean": mean(points), "seeds": points}
    return {"before": mean(tables["without"][split][system]), **summary}


def below_zero(least: float) -> dict[str, float]:
    """How far below zero a gap begins; prose writes the minus sign itself."""
    return {"below zero": max(-least, 0.0)}


def paired_gap(tables: dict[str, SeedTable], breaks: str, more_than: str, on: str) -> dict[str, float]:
    """The gap if each seed is compared with its own run without the rule."""
    first, second = (
        [a - b for a, b in zip(tables["without"][on][name], tables["with"][on][name], strict=True)]
        for name in (breaks, more_than)
    )
    least = min(first) - max(second)
    return {"least": least, "most": max(first) - min(second)} | below_zero(least)
