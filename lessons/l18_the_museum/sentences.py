"""Results for every sentence, and what they say about the order of two systems.

    >>> sentences_of("BLEU beam", "convs2s").shape         # sentences, seeds, counts for BLEU
    torch.Size([1000, 3, 6])
    >>> low, high = difference_interval("BLEU beam", "convs2s", "bahdanau")
    >>> 0.5 < low < high < 3
    True
    >>> verdict("BLEU beam", "convs2s", "bahdanau")
    'ahead'

Not every run has results for every sentence, and some columns never have (parameters, seconds, perplexity):
then these functions return None, and a verdict rests on the seeds alone.
"""

from __future__ import annotations

from functools import cache, lru_cache

import torch

from course_lib.results import unpack_rows, value_at
from course_lib.shapes import Float, Tensor
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.evaluation import length_groups, phenomenon_groups
from lessons.l16_decoding.corpus_bleu import draws, scores_of_draws
from lessons.l18_the_museum.museum import COLUMNS, REAL, TOY, beats, runs_of, seeds_of

N_DRAWS = 2000
VERDICTS = {"yes": "ahead", "no": "behind", "undecided": "undecided"}

Interval = tuple[float, float]


# ---- one result per sentence


@cache
def sentences_of(column: str, system: str) -> Float[Tensor, "sentences seeds ..."] | None:
    """1 or 0 for every sentence and seed, or six counts for BLEU; None if a run has no such record.

    On the coreference split, a row is the mean of two sentences, a minimal pair.
    """
    about, its_runs = COLUMNS[column], []
    for record in about.records:  # a later record replaces an earlier one, as in the table
        its_runs = runs_of(record).get(system, its_runs)
    rows = [_rows_of(run, column) for run in its_runs]
    if not rows or any(of_run is None for of_run in rows):
        return None
    return torch.stack(rows, dim=1)


def _rows_of(run: dict, column: str) -> Tensor | None:
    about = COLUMNS[column]
    *keys, last = about.path.split("/")
    if about.task == REAL:
        packed = value_at(run, *keys, "rows", last)
        return None if packed is None else torch.tensor(unpack_rows(packed), dtype=torch.float64)
    if about.task != TOY or keys[:1] != ["scores"] or last not in ("exact", "pronouns"):
        return None
    split = keys[1]
    marks = value_at(run, "scores", split, "pronouns right" if last == "pronouns" else "right")
    if marks is None:
        return None
    chosen = [float(marks[index] == "1") for index in _group(split, tuple(keys[2:]))]
    results = torch.tensor(chosen, dtype=torch.float64)
    # The sentences of a minimal pair are nearly the same, so they are drawn together.
    return results.view(-1, 2).mean(dim=1) if split == "coreference" else results


@cache
def _splits():
    return splits(sizes=TEST_SIZES)


@cache
def _group(split: str, group: tuple[str, ...]) -> list[int]:
    """The sentences of a split that belong to a group, such as ("by_length", "16–20"); () means all."""
    pairs = getattr(_splits(), split)
    if not group:
        return list(range(len(pairs)))
    kind, name = group
    if kind == "by_length":
        return length_groups([len(pair.src) for pair in pairs])[name]
    return phenomenon_groups(pairs)[name]


# ---- sentences drawn again


@lru_cache(maxsize=2)  # 8 MB for 1,000 sentences
def _draws(n: int) -> Float[Tensor, "draws sentences"]:
    """The same draws for every system."""
    return draws(n, N_DRAWS, torch.Generator().manual_seed(18))


@cache
def _scores(column: str, system: str) -> Float[Tensor, "draws seeds"] | None:
    """The score of every seed on every draw of sentences, in the units of the column."""
    rows = sentences_of(column, system)
    if rows is None:
        return None
    scores = scores_of_draws(_draws(len(rows)), rows)
    return scores if COLUMNS[column].task == REAL else 100 * scores


@lru_cache(maxsize=5000)
def interval(column: str, system: str) -> Interval | None:
    """The central 95% of a system's mean score if seeds and sentences are drawn again."""
    scores = _scores(column, system)
    if scores is None:
        return None
    n_seeds = scores.shape[1]
    seeds = torch.randint(n_seeds, scores.shape, generator=torch.Generator().manual_seed(19))
    return _central(scores.gather(1, seeds).mean(dim=1))


@lru_cache(maxsize=5000)
def difference_interval(column: str, one: str, other: str) -> Interval | None:
    """Lesson 16's paired bootstrap: one − other on the same sentences, averaged over the seeds.

    `None` if a result for every sentence is missing for one of the two.
    """
    scores, others = _scores(column, one), _scores(column, other)
    if scores is None or others is None:
        return None
    return _central(scores.mean(dim=1) - others.mean(dim=1))


def _central(values: Float[Tensor, "draws"]) -> Interval:
    low, high = values.quantile(torch.tensor([0.025, 0.975], dtype=values.dtype)).tolist()
    return low, high


@lru_cache(maxsize=5000)
def verdict(column: str, one: str, other: str) -> str:
    """Whether all seeds agree and the interval over sentences excludes 0: "ahead", "behind", "undecided"."""
    seeds = seeds_of(column)
    by_seeds = beats(seeds[one], seeds[other], COLUMNS[column].higher)
    difference = difference_interval(column, one, other)
    if difference is not None and difference[0] <= 0 <= difference[1]:
        return "undecided"
    return VERDICTS[by_seeds]
