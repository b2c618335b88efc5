"""What the course has measured before: figures of an experiment, for a lesson to show.

>>> recorded("key_and_value", lambda run: run["right"])["width 2, two matrices"]
1.0

The runs are in data/results, with seeds, machine and command; `course_lib experiment` makes them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from statistics import mean

from course_lib.runtime import data_path


@cache
def runs(experiment: str) -> list[dict]:
    """Every run of an experiment: its variant, its seed, and what was measured."""
    return json.loads(data_path("results", f"{experiment}.json").read_text(encoding="utf-8"))["runs"]


def recorded(experiment: str, measure: Callable[[dict], float]) -> dict[str, float]:
    """The mean of a measure over the seeds, for each variant of an experiment."""
    found: dict[str, list[float]] = {}
    for run in runs(experiment):
        found.setdefault(run["variant"], []).append(measure(run))
    return {variant: mean(numbers) for variant, numbers in found.items()}
