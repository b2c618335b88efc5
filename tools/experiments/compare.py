"""Which variant of an experiment is ahead in one column, and by how much: the rule of lesson 18.

    python3 -m course_lib experiment heads --compare 1 --column test --out data/results

    >>> from course_lib.results import read_results
    >>> print(comparison_table(read_results("heads"), "test", "1").splitlines()[2])
    | 2 | 3, 3 | +1.6 [0.6, 2.7] |  | ahead |

One variant is ahead of another if every seed of it is better than every seed of the other *and* no 95%
interval of the difference contains 0. In every other case the comparison is undecided, which doesn't mean
that the two are equal.

The interval over seeds is Welch's, which doesn't assume that both variants vary equally from seed to seed.
For a percentage of sentences, the standard deviation over seeds counts as at least one sentence. Where the
runs record a result for every sentence (whether it is correct, or what BLEU counts in it), there is a second
interval, from a paired bootstrap over seeds and sentences: it also covers the choice of the test sentences,
but with three seeds it underestimates how much training varies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import mean, variance
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.results import unpack_rows, value_at
from lessons.l16_decoding.corpus_bleu import draws, scores_of_draws
from tools.experiments.catalogue import experiments
from tools.experiments.tables import MEASURES, Measure, percent

LEVEL = 0.95
N_SAMPLES = 10_000
N_GRID = 200_000

Interval = tuple[float, float]
Sentences = Sequence[Sequence]  # for each seed, what was counted in each sentence


class Comparison(NamedTuple):
    """`verdict` says whether the first variant is "ahead", "behind" or "undecided"."""

    difference: float
    interval: Interval | None  # over seeds
    with_sentences: Interval | None
    verdict: str


def student_t(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to each side, for this many degrees of freedom (>= 1).

    With t = √ν tan θ, the density of t becomes cos^(ν-1) θ, so θ is where its integral reaches `level`.

    >>> [round(student_t(freedom), 3) for freedom in (1, 2, 4, 1000)]
    [12.706, 4.303, 2.776, 1.962]
    """
    step = math.pi / 2 / N_GRID
    integral = np.cumsum(np.cos((np.arange(N_GRID) + 0.5) * step) ** (freedom - 1))
    theta = np.interp(level, integral / integral[-1], np.arange(1, N_GRID + 1) * step)
    return math.sqrt(freedom) * math.tan(theta)


def welch(one: Sequence[float], other: Sequence[float], least: float = 0.0) -> Interval | None:
    """The 95% interval of the difference of two means; None if either has a single seed.

    `least`: the smallest standard deviation that a variant's seeds are credited with. Three seeds that happen
    to get the same 1 of 500 sentences right don't prove that a fourth would.

    >>> low, high = welch([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
    >>> round(low, 2), round(high, 2)
    (-0.27, 4.27)
    >>> welch([1.0, 1.0], [0.0, 0.0])
    (1.0, 1.0)
    """
    if min(len(one), len(other)) < 2:
        return None
    difference = mean(one) - mean(other)
    parts = [(max(variance(numbers), least**2) / len(numbers), len(numbers) - 1) for numbers in (one, other)]
    total = sum(part for part, _ in parts)
    if total == 0:
        return difference, difference
    freedom = total**2 / sum(part**2 / n for part, n in parts)
    half = student_t(freedom) * math.sqrt(total)
    return difference - half, difference + half


def paired_bootstrap(one: Sentences, other: Sentences, n_samples: int = N_SAMPLES) -> Interval:
    """The 95% interval over seeds and sentences; both variants get the same sentences in every sample.

    Each sentence counts as 1 (correct) or 0, or has a row of six counts for BLEU.

    >>> paired_bootstrap([[True, True]], [[False, False]])
    (1.0, 1.0)
    """
    generator = torch.Generator().manual_seed(0)
    times, means = draws(len(one[0]), n_samples, generator), []
    for variant in (one, other):
        rows = torch.stack([torch.tensor(seed, dtype=torch.float32) for seed in variant], dim=1)
        by_seed = scores_of_draws(times, rows)
        seeds = torch.randint(len(variant), by_seed.shape, generator=generator)
        means.append(by_seed.gather(1, seeds).mean(dim=1))
    tail = torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = (means[0] - means[1]).quantile(tail).tolist()
    return low, high


def compare(one: list[dict], other: list[dict], column: Measure) -> Comparison:
    """Compare the runs of two variants in one column."""
    numbers = [[column.find(run) for run in runs] for runs in (one, other)]
    if any(number is None for variant in numbers for number in variant):
        raise ValueError(f"Not every run has a number for {column.heading!r}.")
    first, second = numbers
    rights = [[_sentences(run, column) for run in runs] for runs in (one, other)]
    has_sentences = all(right is not None for variant in rights for right in variant)
    n = len(rights[0][0]) if has_sentences else value_at(one[0], *column.path[:-1], "n")
    interval = welch(first, second, least=1 / n if n else 0.0)
    with_sentences = paired_bootstrap(*rights) if has_sentences else None
    is_higher = min(first) > max(second) and _above(interval, with_sentences)
    is_lower = max(first) < min(second) and _above(
        *(bounds and (-bounds[1], -bounds[0]) for bounds in (interval, with_sentences))
    )
    if not column.higher_is_better:
        is_higher, is_lower = is_lower, is_higher
    verdict = "ahead" if is_higher else "behind" if is_lower else "undecided"
    return Comparison(mean(first) - mean(second), interval, with_sentences, verdict)


def _above(interval: Interval | None, with_sentences: Interval | None) -> bool:
    """Whether both intervals are above 0; a second one need not exist."""
    return interval is not None and interval[0] > 0 and (with_sentences is None or with_sentences[0] > 0)


def _sentences(run: dict, column: Measure) -> Sequence | None:
    """What was counted in each sentence, if the column comes from that and the run recorded it."""
    *where, last = column.path
    if rows := value_at(run, *where, "rows", last):
        return unpack_rows(rows)
    keys = {"exact": "right", "pronouns": "pronouns right"}
    found = value_at(run, *where, keys[last]) if last in keys else value_at(run, *column.path)
    return [digit == "1" for digit in found] if isinstance(found, str) else None


def find_column(results: dict[str, Any], name: str | None) -> Measure:
    """A column of the experiment's table by its heading, or a number by its path in a run (a/b/c).

    Without a name, the first column that isn't the number of parameters.
    """
    measures = MEASURES[experiments()[results["experiment"]].kind]
    columns = max((measures(run) for run in results["runs"]), key=len)
    headings = {column.heading: column for column in columns}
    if name is None:
        return next(column for column in columns if column.heading != "parameters")
    if name in headings:
        return headings[name]
    path = tuple(name.split("/"))
    if isinstance(value_at(results["runs"][0], *path), int | float):
        return Measure(name, path, percent if path[-1] == "exact" else "{:.3g}".format)
    raise ValueError(f"There is no column {name!r}; the columns are: {', '.join(headings)}.")


def comparisons(
    results: dict[str, Any], column: Measure, with_variant: str | None = None
) -> dict[tuple[str, str], Comparison]:
    """Every variant compared with a named one, or every two of them."""
    variants: dict[str, list[dict]] = {}
    for run in results["runs"]:
        if column.find(run) is not None:
            variants.setdefault(run["variant"], []).append(run)
    if with_variant is not None and with_variant not in variants:
        raise ValueError(f"There is no variant {with_variant!r}; the variants are: {', '.join(variants)}.")
    if with_variant is None:
        names = [(one, other) for other, one in combinations(variants, 2)]
    else:
        names = [(one, with_variant) for one in variants if one != with_variant]
    return {(one, other): compare(variants[one], variants[other], column) for one, other in names}


def comparison_table(results: dict[str, Any], column: str | None, with_variant: str | None = None) -> str:
    """The comparisons as a Markdown table."""
    measure = find_column(results, column)
    counts = Counter(run["variant"] for run in results["runs"])
    first = f"compared with {with_variant}" if with_variant is not None else "variants"
    lines = [[f"{measure.heading}, {first}", "seeds", "difference", "with sentences", "verdict"], ["---"] * 5]
    for (one, other), found in comparisons(results, measure, with_variant).items():
        name = one if with_variant is not None else f"{one} − {other}"
        lines.append([name, f"{counts[one]}, {counts[other]}", *written(found, measure), found.verdict])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written(found: Comparison, column: Measure) -> tuple[str, str]:
    """The difference with its interval over seeds, and the interval with sentences.

    >>> written(Comparison(0.017, (0.005, 0.029), None, "ahead"), Measure("test", ()))
    ('+1.7 [0.5, 2.9]', '')
    """
    difference = ("+" if found.difference > 0 else "") + column.write(found.difference)
    intervals = [
        f"[{', '.join(column.write(bound) for bound in bounds)}]" if bounds else ""
        for bounds in (found.interval, found.with_sentences)
    ]
    return f"{difference} {intervals[0]}".strip(), intervals[1]
