"""Recorded accuracies by sentence length, for the figures of sections 1 and 6."""

from __future__ import annotations

from course_lib.results import mean_over_seeds, value_at

RANGES = tuple(("test", words) for words in ("1–5", "6–10", "11–15", "16–20")) + (
    ("long", "21–30"),
    ("long", "31–40"),
)


def exact_by_length(experiment: str, variant: str) -> list[float]:
    """Exact translations in percent for each range of lengths, averaged over the seeds.

    >>> [round(percent) for percent in exact_by_length("positions", "none")]
    [97, 75, 31, 6, 0, 0]
    """
    paths = [("scores", split, "by_length", words, "exact") for split, words in RANGES]
    return [100 * mean_over_seeds(experiment, lambda run, path=path: value_at(run, *path))[variant] for path in paths]
