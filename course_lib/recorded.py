"""What the course has measured before: figures of an experiment, for a lesson to show.

>>> round(recorded("key_and_value", lambda run: run["right"])["width 2, two matrices"], 4)
0.9999

The runs are in data/results, with seeds, machine and command; `course_lib experiment` makes them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from statistics import mean
from typing import Any

from course_lib.runtime import data_path


@cache
def runs(experiment: str) -> list[dict]:
    """Every run of an experiment: its variant, its seed, and what was measured."""
    return json.loads(data_path("results", f"{experiment}.json").read_text(encoding="utf-8"))["runs"]


def number(run: dict, *path: str | int) -> Any:
    """What lies at a place in a run, or None.

    >>> run = runs("toy_ladder")[0]
    >>> number(run, "scores", "test", "n"), number(run, "scores", "test", "perplexity")
    (1000, None)
    """
    found: Any = run
    for key in path:
        if found is None:
            return None
        found = found.get(key) if isinstance(found, dict) else found[key]
    return found


def recorded(experiment: str, measure: Callable[[dict], float]) -> dict[str, float]:
    """The mean of a measure over the seeds, for each variant of an experiment."""
    found: dict[str, list[float]] = {}
    for run in runs(experiment):
        found.setdefault(run["variant"], []).append(measure(run))
    return {variant: mean(numbers) for variant, numbers in found.items()}
