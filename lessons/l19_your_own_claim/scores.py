"""Percentages of correct translations: by split and by seed, and the points that a rule costs.

scores = score_table({"bahdanau": [outcome_0, outcome_1, outcome_2]}, mirror)
scores["rule"]["bahdanau"]                              # a percentage for each seed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from torch import float64, tensor

from course_lib.translation.comparison import Rows
from lessons.l19_your_own_claim.corpus import split_indices
from lessons.l19_your_own_claim.rules import Rule
from lessons.l19_your_own_claim.systems import Correct, Outcome

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
) -> Rows:
    """The points that a rule costs each run on each sentence of a split: from the mean without the rule."""
    name, indices = split_indices(rule, new=new)[split]
    before, after = (
        [[100.0 * int(outcome["right"][name][index]) for index in indices] for outcome in outcomes]
        for outcomes in (without, with_rule)
    )
    return (tensor(before, dtype=float64).mean(dim=0) - tensor(after)).T
