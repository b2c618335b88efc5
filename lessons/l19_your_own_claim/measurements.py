"""Numbers that lesson 19 quotes, from the runs of `claims`, `claims_again` and `claims_confirmed`."""

from __future__ import annotations

from statistics import mean

from course_lib.teaching.exercises import find_exercise
from lessons.l16_decoding.exercises import bootstrapped
from lessons.l19_your_own_claim.corpus import (
    NEW_SETS,
    TEST_SETS,
    new_sentences,
    small_world,
    split_indices,
    split_sizes,
)
from lessons.l19_your_own_claim.error_analysis import by_kind, find_errors
from lessons.l19_your_own_claim.exercises import from_every_run
from lessons.l19_your_own_claim.rules import Rule, concerns, even, mirror
from lessons.l19_your_own_claim.scores import SeedTable, points_lost
from lessons.l19_your_own_claim.systems import make_system
from lessons.l19_your_own_claim.trials import Trial, recorded_run, run_trial

FIRST, FRESH, THIRD = (0, 1, 2), (3, 4, 5), (6, 7, 8)  # seeds
SYSTEMS = ("bahdanau", "transformer", "no positions")
CONFIRMED = {  # rule, system that should lose more, than which one, on, at least how many points
    "mirror": (mirror, "transformer", "bahdanau", "rule", 5),
    "mirror, long": (mirror, "transformer", "bahdanau", "rule, long", 5),
    "even": (even, "transformer", "no positions", "rest", 1),
}
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
        "confirmed": {name: measure_round(*claim, THIRD, new=True) for name, claim in CONFIRMED.items()},
        "rounds before": {
            name: {str(seeds[0]): measure_round(*claim, seeds) for seeds in (FIRST, FRESH)}
            for name, claim in CONFIRMED.items()
        },
        "errors": {
            "mirror": {name: measure_errors(mirror, name) for name in ("transformer", "bahdanau")},
            "even": {name: measure_errors(even, name) for name in ("transformer", "no positions")},
        },
    }


def measure_world() -> dict[str, object]:
    world = small_world()
    return {
        "sizes": {name: len(pairs) for name, pairs in vars(world).items()},
        "new sentences": {name: len(pairs) for name, pairs in new_sentences().items()},
        "fraction of 3 and 4 words": {
            "test": mean(len(pair.src) < 5 for pair in world.test),
            "new": mean(len(pair.src) < 5 for pair in new_sentences()["new"]),
        },
        "mirror in training": sum(concerns(mirror, pair) for pair in world.train),
    }


def n_parameters(system: str) -> int:
    return sum(weight.numel() for weight in make_system(system, VOCABULARY).parameters())


def percent_without_rule(system: str) -> dict[str, float]:
    """Percent of the sentences of each test set that are correct, mean over the seeds."""
    runs = [recorded_run(system, None, seed, with_new=True)["right"] for seed in THIRD]
    return {
        name: mean(100 * run[name].count("1") / len(run[name]) for run in runs)
        for name in (*TEST_SETS, *NEW_SETS)
    }


def recorded_trial(
    rule: Rule, systems: tuple[str, ...], seeds: tuple[int, ...], *, new: bool = False
) -> Trial:
    """A trial whose runs are all in data/results."""

    def check(line: str) -> None:
        if not line.endswith("on record"):
            raise LookupError(f"{line}: there is no such run in data/results")

    return run_trial(rule, {name: name for name in systems}, seeds=seeds, with_new=new, tell=check)


def measure_round(
    rule: Rule,
    breaks: str,
    more_than: str,
    on: str,
    points: float,
    seeds: tuple[int, ...],
    *,
    new: bool = False,
) -> dict:
    """The gap between two systems over the pairs of runs, its interval over sentences, and the verdicts."""
    trial = recorded_trial(rule, (breaks, more_than), seeds, new=new)
    prediction = {"breaks": breaks, "more_than": more_than, "on": on, "points": points}
    tables = trial.tables(new=new)
    outcome = find_exercise("verdict").reference(prediction, tables)
    lost = [trial.lost_by_sentence(on, system, new=new).mean(dim=1) for system in (breaks, more_than)]
    low, high = bootstrapped(*lost)
    return {
        "sentences": len(lost[0]),
        "gap": {key: outcome[key] for key in ("least", "most")},
        "gap of all seeds": gap_of_all_seeds(tables, on, breaks, more_than),
        "interval": {"low": low, "high": high},
        "before": {name: mean(tables["without"][on][name]) for name in (breaks, more_than)},
        "fraction lost": {name: fraction_lost(tables, on, name) for name in (breaks, more_than)},
        "by the seeds": outcome["verdict"],
        "in the end": trial.judge(prediction, new=new)[0],
    }


def gap_of_all_seeds(tables: dict[str, SeedTable], on: str, breaks: str, more_than: str) -> dict[str, float]:
    """The gap if each run without the rule counts by itself, and not only their mean."""
    mine, theirs = (from_every_run(tables, on, name) for name in (breaks, more_than))
    return {"least": min(mine) - max(theirs), "most": max(mine) - min(theirs)}


def fraction_lost(tables: dict[str, SeedTable], on: str, system: str) -> dict[str, float]:
    """The points lost as a fraction of the mean percentage without the rule."""
    fractions = [lost / mean(tables["without"][on][system]) for lost in points_lost(tables, on, system)]
    return {"min": min(fractions), "max": max(fractions)}


def measure_errors(rule: Rule, system: str) -> dict[str, dict[str, int]]:
    """How many translations of the first three seeds are wrong on each short split, and in which way."""
    trial, counts = recorded_trial(rule, (system,), FIRST), {}
    for split in ("rule", "rest"):
        kinds = {kind: len(errors) for kind, errors in by_kind(find_errors(trial, system, split)).items()}
        by_mistake = kinds.get("rule applied by mistake", 0)
        counts[split] = {
            "wrong": sum(kinds.values()),
            "without the rule": wrong_without_rule(trial, system, split),
            "by mistake": by_mistake,
            "others": sum(kinds.values()) - by_mistake,
            "not reversed": sum(n for kind, n in kinds.items() if kind.startswith("rule not applied")),
        }
    return counts


def wrong_without_rule(trial: Trial, system: str, split: str) -> int:
    name, indices = split_indices(trial.rule)[split]
    return sum(run["right"][name][index] == "0" for run in trial.runs["without"][system] for index in indices)


def measure_claim(rule: Rule, breaks: str, more_than: str, on: str, seeds: tuple[int, ...]) -> dict:
    """The gap between two systems on a split, and the points that each of them loses on every split."""
    tables = recorded_trial(rule, (breaks, more_than), seeds).tables()
    prediction = {"breaks": breaks, "more_than": more_than, "on": on, "points": 0}
    outcome = find_exercise("verdict").reference(prediction, tables)
    return {
        "sizes": split_sizes(rule),
        "gap": {key: outcome[key] for key in ("least", "most")},
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
