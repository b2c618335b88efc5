"""Is one system better than another? One rule for the whole course.

    >>> compare([56.4, 58.0, 61.6], [10.0, 11.2, 13.0])
    Comparison(difference=47.26..., interval=None, verdict='better')
    >>> compare([56.4, 58.0, 61.6], [10.0, 11.2, 13.0], by=50).verdict          # by at least 50 points?
    'no clear difference'

A is better than B if every run of A beats every run of B, with three runs each or more, and, where the runs
recorded a result for every sentence, the 95% interval of a paired bootstrap over runs and sentences excludes
0. Otherwise there is no clear difference. A claim "better by at least p" is judged in the same way, with p
instead of 0: A beats B if it is ahead by more than p.

With fewer than three runs, "every run" means little: of two equally good systems with two runs each, one is
better with every run in one case of three; with three runs each, in one of ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from statistics import mean
from typing import NamedTuple

import torch

from course_lib.results import unpack_rows, value_at
from course_lib.shapes import Float, Tensor
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.corpus_bleu import draws, scores_of_draws
from course_lib.translation.evaluation import length_groups, phenomenon_groups

BETTER, WORSE, UNCLEAR = "better", "worse", "no clear difference"
CLAIMS = {BETTER: "holds", WORSE: "fails", UNCLEAR: UNCLEAR}  # what becomes of a claim "A is better"
N_RUNS, N_SAMPLES, LEVEL = 3, 10_000, 0.95

Interval = tuple[float, float]
Rows = Float[Tensor, "sentences runs ..."]  # a number for each sentence, or six counts for BLEU
Samples = Float[Tensor, "samples runs"]


class Comparison(NamedTuple):
    """`difference` of the means, one − other; `interval` of it, if results for sentences were recorded."""

    difference: float
    interval: Interval | None
    verdict: str


def compare(
    one: Sequence[float],
    other: Sequence[float],
    *,
    higher: bool = True,
    by: float = 0.0,
    samples: tuple[Samples, Samples] | None = None,
) -> Comparison:
    """Compare two systems, given a number for each run; `higher` says whether larger numbers are better.

    `samples`: what `resampled` returns for each of them, in the same unit as the numbers.
    """
    interval = bootstrap_interval(*samples) if samples else None
    verdict = by_runs(one, other, higher=higher, by=by)
    if min(len(one), len(other)) < N_RUNS or (interval and not _agrees(interval, verdict, higher, by)):
        verdict = UNCLEAR
    return Comparison(mean(one) - mean(other), interval, verdict)


def by_runs(one: Sequence[float], other: Sequence[float], *, higher: bool = True, by: float = 0.0) -> str:
    """The rule without sentences: does every run of one beat every run of the other, however many there are?

    >>> by_runs([3.0, 5.0], [2.0, 3.0])          # two runs are equal
    'no clear difference'
    >>> by_runs([0.1, 0.2], [0.3], higher=False)
    'better'
    """
    if not higher:
        one, other = [-number for number in one], [-number for number in other]
    if min(one) - max(other) > by:
        return BETTER
    return WORSE if max(one) - min(other) < by else UNCLEAR


def _agrees(interval: Interval, verdict: str, higher: bool, by: float) -> bool:
    low, high = interval if higher else (-interval[1], -interval[0])
    return low > by if verdict == BETTER else high < by


# ---- sentences and runs drawn again


@lru_cache(maxsize=1)  # 40 MB for 1,000 sentences
def _draws(n: int) -> Float[Tensor, "samples sentences"]:
    return draws(n, N_SAMPLES, torch.Generator().manual_seed(0))


def resampled(rows: Rows) -> Samples:
    """The score of every run on 10,000 samples of the sentences, which are the same for every system."""
    return scores_of_draws(_draws(len(rows)), rows.float())


def bootstrap_interval(one: Samples, other: Samples) -> Interval:
    """The 95% interval of the difference one − other: the sentences are paired, the runs are not.

    >>> right = torch.tensor([[1.0] * 3] * 30 + [[0.0] * 3] * 70)
    >>> bootstrap_interval(resampled(right), resampled(right))
    (0.0, 0.0)
    """
    if one.mean() < other.mean():  # so that both directions draw the same runs
        low, high = bootstrap_interval(other, one)
        return -high, -low
    generator = torch.Generator().manual_seed(1)
    drawn = [
        side.gather(1, torch.randint(side.shape[1], side.shape, generator=generator)).mean(dim=1)
        for side in (one, other)
    ]
    tails = torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = (drawn[0] - drawn[1]).quantile(tails).tolist()
    return low, high


# ---- what a run recorded for every sentence


def sentence_rows(runs: Sequence[dict], *path: str | int) -> Rows | None:
    """What lies behind the number at this path, sentence by sentence; None unless every run recorded it.

    For exact match 1 or 0, for BLEU six counts. The two sentences of a minimal pair are nearly the same, so
    they are drawn together: a row of the coreference split is the mean of both.

    >>> from course_lib.results import runs
    >>> sentence_rows([run for run in runs("multi30k_ladder") if run["variant"] == "rctm"],
    ...               "scores", "test", "beam").shape
    torch.Size([1000, 3, 6])
    >>> sentence_rows(runs("toy_language_models"), "scores", "test", "perplexity")
    """
    found = [_rows_of(run, *path) for run in runs]
    return torch.stack(found, dim=1) if found and all(rows is not None for rows in found) else None


def _rows_of(run: dict, *path: str | int) -> Tensor | None:
    *where, last = path
    holder = value_at(run, *where)
    if isinstance(holder, dict) and last in holder.get("rows", {}):
        return torch.tensor(unpack_rows(holder["rows"][last]))
    split, *group = where[1:] if where[:1] == ["scores"] else [None]
    names = {"exact": "right", "pronouns": "pronouns right"}
    marks = value_at(run, *where[:2], names[last]) if split and last in names else value_at(run, *path)
    if not isinstance(marks, str):
        return None
    if group:
        if len(marks) != len(getattr(_splits(), split)):
            return None
        marks = [marks[index] for index in _group(split, *group)]
    rows = torch.tensor([float(mark == "1") for mark in marks])
    return rows.view(-1, 2).mean(dim=1) if split == "coreference" else rows


@cache
def _splits():
    return splits(sizes=TEST_SIZES)


@cache
def _group(split: str, kind: str, name: str) -> list[int]:
    """The sentences of a split that belong to a group, such as ("by_length", "16–20")."""
    pairs = getattr(_splits(), split)
    groups = length_groups([len(pair.src) for pair in pairs]) if kind == "by_length" else None
    return (groups or phenomenon_groups(pairs))[name]
