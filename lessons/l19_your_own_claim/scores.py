"""Percentages of correct translations: by split, by length, by seed, and the points that a rule costs.

scores = score_table({"bahdanau": [correct_0, correct_1, correct_2]}, mirror)
scores["rule"]["bahdanau"]                              # a percentage for each seed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from lessons.l19_your_own_claim.corpus import small_world, split_indices
from lessons.l19_your_own_claim.rules import Rule
from lessons.l19_your_own_claim.systems import Correct

SeedTable = dict[str, dict[str, list[float]]]  # table[split][system]: a percentage for each seed


def by_split(correct: Mapping[str, str], rule: Rule) -> dict[str, float]:
    """The percentage for each split of the rule that has sentences.

    For a run without the rule it says what the system could do with the same sentences.
    """
    return {
        split: 100 * mean(int(correct[name][index]) for index in indices)
        for split, (name, indices) in split_indices(rule).items()
        if indices
    }


def by_length(correct: Mapping[str, str]) -> dict[int, float]:
    """The percentage of the short test sentences, by their number of English words."""
    marks: dict[int, list[int]] = {}
    for character, pair in zip(correct["test"], small_world().test, strict=True):
        marks.setdefault(len(pair.src), []).append(int(character))
    return {length: 100 * mean(values) for length, values in sorted(marks.items())}


def score_table(runs: Mapping[str, Sequence[Correct]], rule: Rule) -> SeedTable:
    """`table[split][system]`: a percentage for each seed."""
    scores = {system: [by_split(correct, rule) for correct in seeds] for system, seeds in runs.items()}
    splits = next(iter(scores.values()))[0]
    return {
        split: {system: [score[split] for score in seeds] for system, seeds in scores.items()}
        for split in splits
    }


def points_lost(tables: Mapping[str, SeedTable], split: str, system: str) -> list[float]:
    """Points that the rule costs a system on a split, for each seed: from its mean without the rule."""
    before = mean(tables["without"][split][system])
    return [before - now for now in tables["with"][split][system]]
