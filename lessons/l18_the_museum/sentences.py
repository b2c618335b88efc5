"""Two systems compared in one column, by the course's rule: with runs and, where recorded, sentences.

    >>> sentences_of("BLEU beam", "convs2s").shape         # sentences, runs, counts for BLEU
    torch.Size([1000, 3, 6])
    >>> compared("BLEU beam", "convs2s", "bahdanau").verdict
    'better'

Some columns never have results for single sentences (parameters, seconds, perplexity), and not every run has
them: then `sentences_of` returns None, and the runs alone decide.
"""

from __future__ import annotations

from functools import cache, lru_cache

from course_lib.translation.comparison import Comparison, Rows, Samples, compare, resampled, sentence_rows
from lessons.l18_the_museum.museum import COLUMNS, numbers_of, runs_of


@cache
def sentences_of(column: str, system: str) -> Rows | None:
    """A number for every sentence and run, 0 to 100, or six counts for BLEU; None without such a record."""
    about, its_runs = COLUMNS[column], []
    for record in about.records:  # a later record replaces an earlier one, as in the table
        its_runs = runs_of(record).get(system, its_runs)
    rows = sentence_rows(its_runs, *about.path.split("/"))
    return 100 * rows if rows is not None and about.unit.startswith("%") else rows


@cache
def _samples(column: str, system: str) -> Samples | None:
    rows = sentences_of(column, system)
    return None if rows is None else resampled(rows)


@lru_cache(maxsize=5000)
def compared(column: str, one: str, other: str) -> Comparison:
    numbers, samples = numbers_of(column), (_samples(column, one), _samples(column, other))
    have_both = samples[0] is not None and samples[1] is not None
    higher = COLUMNS[column].higher
    return compare(numbers[one], numbers[other], higher=higher, samples=samples if have_both else None)
