"""How the variants of an experiment compare in one column, by the course's rule.

    python3 -m course_lib experiment heads --compare 1 --column test --out data/results

    >>> from course_lib.results import read_results
    >>> print(comparison_table(read_results("heads"), "test", "1").splitlines()[2])
    | 2 | 3, 3 | +1.6 |  | better |

The rule is that of `course_lib.translation.comparison`. Where the runs recorded a result for every sentence,
the difference has a 95% interval, from a paired bootstrap over runs and sentences.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from course_lib.results import value_at
from course_lib.translation.comparison import Comparison, compare, resampled, sentence_rows
from tools.experiments.tables import Measure, by_variant, markdown, measures, percent


def compare_runs(one: list[dict], other: list[dict], column: Measure) -> Comparison:
    """Compare the runs of two variants in one column."""
    numbers = [[column.find(run) for run in runs] for runs in (one, other)]
    if any(number is None for variant in numbers for number in variant):
        raise ValueError(f"Not every run has a number for {column.heading!r}.")
    rows = [sentence_rows(runs, *column.path) for runs in (one, other)]
    have_rows = all(found is not None for found in rows) and len(rows[0]) == len(rows[1])
    samples = tuple(map(resampled, rows)) if have_rows else None
    return compare(*numbers, higher=column.higher_is_better, samples=samples)


def find_column(results: dict[str, Any], name: str | None) -> Measure:
    """A column of the experiment's table by its heading, or a number by its path in a run (a/b/c).

    Without a name, the first column that isn't the number of parameters.
    """
    headings = {column.heading: column for column in measures(results)}
    if name is None:
        return next(column for name, column in headings.items() if name != "parameters")
    if name in headings:
        return headings[name]
    path = tuple(name.split("/"))
    if isinstance(value_at(results["runs"][0], *path), int | float):
        return Measure(name, path, percent if path[-1] == "exact" else "{:.3g}".format)
    raise ValueError(f"There is no column {name!r}; the columns are: {', '.join(headings)}.")


def comparison_table(results: dict[str, Any], column: str | None, with_variant: str | None = None) -> str:
    """Every variant compared with a named one, or every two of them, as a Markdown table."""
    measure = find_column(results, column)
    variants = by_variant(run for run in results["runs"] if measure.find(run) is not None)
    if with_variant is not None and with_variant not in variants:
        raise ValueError(f"There is no variant {with_variant!r}; the variants are: {', '.join(variants)}.")
    if with_variant is None:
        first, pairs = "variants", [(one, other) for other, one in combinations(variants, 2)]
    else:
        first = f"compared with {with_variant}"
        pairs = [(one, with_variant) for one in variants if one != with_variant]
    lines = [[f"{measure.heading}, {first}", "runs", "difference", "interval", "verdict"]]
    for one, other in pairs:
        found = compare_runs(variants[one], variants[other], measure)
        name = one if with_variant is not None else f"{one} − {other}"
        counts = f"{len(variants[one])}, {len(variants[other])}"
        lines.append([name, counts, *written(found, measure), found.verdict])
    return markdown(lines)


def written(found: Comparison, column: Measure) -> tuple[str, str]:
    """The difference and its interval.

    >>> written(Comparison(0.017, (0.005, 0.029), "better"), Measure("test", ()))
    ('+1.7', '[0.5, 2.9]')
    """
    difference = ("+" if found.difference > 0 else "") + column.write(found.difference)
    return difference, f"[{', '.join(map(column.write, found.interval))}]" if found.interval else ""
