"""Percentages of correct translations: by split and by seed, and the points that a rule costs.

scores = score_table({"bahdanau": [outcome_0, outcome_1, outcome_2]}, mirror)
scores["rule"]["bahdanau"]                              # a percentage for each seed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from torch import Tensor, tensor

from lessons.l19_your_own_claim.corpus import split_indices
from lessons.l19_your_own_claim.rules import Rule
from lessons.l19_your_own_claim.systems import Correct, Outcome

PairedBootstrap = Callable[[Tensor, Tensor], tuple[float, float]]
SeedTable = dict[str, dict[str, list[float]]]  # table[split][system]: a percentage for each seed


def by_split(correct: Correct, rule: Rule, *, new: bool = False) -> dict[str, float]:
    """The percentage for each split of the rule that has sentences.

    For a run without the rule it says what the system could do with the same sentences.
    """
    return {
        split: 100.0 * mean(int(correct[name][index]) for index in indices)
        for split, (name, indices) in split_indices(rule, new=new).items()
        if indices
    }


def score_table(runs: Mapping[str, Sequence[Outcome]], rule: Rule, *, new: bool = False) -> SeedTable:
    """`table[split][system]`: a percentage for each seed."""
    scores = {
        system: [by_split(outcome["right"], rule, new=new) for outcome in seeds]
        for system, seeds in runs.items()
    }
    splits = next(iter(scores.values()))[0]
    return {
        split: {system: [score[split] for score in seeds] for system, seeds in scores.items()}
        for split in splits
    }


def points_lost(tables: Mapping[str, SeedTable], split: str, system: str) -> list[float]:
    """Points that the rule costs a system on a split, for each seed: from its mean without the rule."""
    before = mean(tables["without"][split][system])
    return [before - now for now in tables["with"][split][system]]


def lost_by_sentence(
    without: Sequence[Outcome], with_rule: Sequence[Outcome], rule: Rule, split: str, *, new: bool = False
) -> Tensor:
    """The points that a rule costs a system on each sentence of a split, as means over the seeds."""
    name, indices = split_indices(rule, new=new)[split]
    before, after = (
        [[100.0 * int(outcome["right"][name][index]) for index in indices] for outcome in outcomes]
        for outcomes in (without, with_rule)
    )
    return tensor(before).mean(dim=0) - tensor(after).mean(dim=0)


def combined(outcome: Mapping[str, Any], interval: tuple[float, float], points: float) -> str:
    """The verdict by the seeds, if the interval over the sentences agrees with it; else "undecided".

    >>> combined({"verdict": "held"}, (2.6, 24.0), 5)
    'undecided'
    """
    low, high = interval
    agrees = {"held": low >= points, "failed": high < points}
    return outcome["verdict"] if agrees.get(outcome["verdict"], False) else "undecided"
