"""The rule for comparisons: runs, sentences, margins."""

from __future__ import annotations

from math import nan

import pytest
import torch

from course_lib.results import runs, value_at
from course_lib.translation import comparison
from course_lib.translation.comparison import (
    BETTER,
    CLAIMS,
    UNCLEAR,
    WORSE,
    bootstrap_interval,
    compare,
    resampled,
    sentence_rows,
)
from course_lib.translation.corpus_bleu import bleu_of_rows

OPPOSITE = {BETTER: WORSE, WORSE: BETTER, UNCLEAR: UNCLEAR}


def right(*fractions: float, n: int = 1000) -> torch.Tensor:
    """For each run, this fraction of the sentences is right, the first ones."""
    return torch.stack([(torch.arange(n) < fraction * n).float() for fraction in fractions], dim=1)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ((0.9, 0.91, 0.92), (0.8, 0.81, 0.82), BETTER),
        ((0.5, 0.7, 0.9), (0.47, 0.48, 0.49), BETTER),
        ((0.9, 0.91, 0.92, 0.79), (0.6, 0.6, 0.6, 0.8), UNCLEAR),  # one run of each is out of order
        ((0.9, 0.91, 0.92), (0.8, 0.81, 0.9), UNCLEAR),  # a tie
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), UNCLEAR),
        ((0.9, 0.9), (0.1, 0.1, 0.1), UNCLEAR),  # two runs
        ((0.9,), (0.1,), UNCLEAR),
        ((nan, 0.9, 0.9), (0.1, 0.1, 0.1), UNCLEAR),
    ],
)
def test_every_run_has_to_beat_every_run(one, other, verdict):
    assert compare(one, other).verdict == verdict
    assert compare(other, one).verdict == compare(one, other, higher=False).verdict == OPPOSITE[verdict]


def test_with_sentences_their_interval_has_to_exclude_0_too():
    for n, verdict in ((40, UNCLEAR), (4000, BETTER)):
        rows = right(0.80, 0.80, 0.85, n=n), right(0.70, 0.75, 0.75, n=n).flip(0)  # other sentences
        numbers = [of_one.mean(dim=0).tolist() for of_one in rows]
        found = compare(*numbers, samples=tuple(map(resampled, rows)))
        back = compare(*numbers[::-1], samples=tuple(map(resampled, rows[::-1])))
        assert (found.verdict, back.verdict) == (verdict, OPPOSITE[verdict])
        assert found.interval == pytest.approx([-end for end in back.interval[::-1]])
        assert (found.interval[0] > 0) == (verdict == BETTER)
        lower = compare(*numbers, higher=False, samples=tuple(map(resampled, rows)))
        assert lower.verdict == OPPOSITE[verdict]


def test_sentences_dont_decide_against_the_runs():
    rows = right(0.9, 0.9, 0.5), right(0.4, 0.4, 0.6)
    assert compare((0.9, 0.9, 0.5), (0.4, 0.4, 0.6), samples=tuple(map(resampled, rows))).verdict == UNCLEAR


@pytest.mark.parametrize(("points", "claim"), [(4, "holds"), (7, UNCLEAR), (13, "fails"), (5, UNCLEAR)])
def test_a_claim_by_at_least_so_many_points_is_the_rule_shifted(points, claim):
    """The runs differ by 5 to 12 points."""
    lost, less = (20.0, 21.0, 25.0), (13.0, 14.0, 15.0)
    assert CLAIMS[compare(lost, less, by=points).verdict] == claim
    assert CLAIMS[compare(less, lost, higher=False, by=points).verdict] == claim


def test_the_interval_of_a_claim_has_to_clear_its_margin():
    rows = 100 * right(0.30, 0.31, 0.32), 100 * right(0.10, 0.11, 0.12)
    numbers = [of_one.mean(dim=0).tolist() for of_one in rows]
    found = [compare(*numbers, by=by, samples=tuple(map(resampled, rows))) for by in (10, 17.9, 25)]
    assert [CLAIMS[one.verdict] for one in found] == ["holds", UNCLEAR, "fails"]


def test_the_bootstrap_is_paired_and_covers_runs_and_sentences():
    easy, harder = resampled(right(0.3, 0.3, 0.3, n=100)), resampled(right(0.2, 0.2, 0.2, n=100))
    assert bootstrap_interval(easy, easy) == (0.0, 0.0)
    low, high = bootstrap_interval(easy, harder)
    assert 0.02 < low < 0.1 < high < 0.2
    uneven = resampled(right(0.4, 0.2, n=100))
    low, high = bootstrap_interval(easy, uneven)
    assert low < -0.05 < 0.05 < high


@pytest.mark.parametrize(
    ("experiment", "path"),
    [
        ("toy_ladder", ("scores", "test", "exact")),
        ("toy_ladder", ("scores", "test", "by_length", "16–20", "exact")),
        ("toy_ladder", ("scores", "test", "by_phenomenon", "negation", "exact")),
        ("toy_ladder", ("scores", "coreference", "pronouns")),
        ("multi30k_ladder", ("scores", "test", "beam")),
    ],
)
def test_recorded_sentences_give_the_recorded_number_of_every_run(experiment, path):
    first = runs(experiment)[:3]
    rows = sentence_rows(first, *path)
    scores = rows.mean(dim=0) if rows.ndim == 2 else bleu_of_rows(rows.transpose(0, 1))
    assert scores.tolist() == pytest.approx([value_at(run, *path) for run in first], abs=2e-3)
    assert len(rows) == 200 or "coreference" not in path, "minimal pairs are drawn together"


def test_numbers_without_sentences():
    for experiment, path in (
        ("toy_ladder", ("parameters",)),
        ("toy_ladder", ("scores", "test", "alignment_error")),
        ("block", ("likeness", -1)),
    ):
        assert sentence_rows(runs(experiment)[:3], *path) is None
    with_and_without = [run | {"scores": {"test": {"exact": 1.0}}} for run in runs("toy_ladder")[:1]]
    path = ("scores", "test", "exact")
    assert sentence_rows([*runs("toy_ladder")[:2], *with_and_without], *path) is None
    other_test_set = {"scores": {"test": {"by_length": {"16–20": {"exact": 1.0}}, "right": "11"}}}
    assert comparison._rows_of(other_test_set, "scores", "test", "by_length", "16–20", "exact") is None
