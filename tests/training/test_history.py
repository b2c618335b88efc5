"""The records of a run."""

from __future__ import annotations

import json
import math

from course_lib.training.history import History, Record


def record(step, loss):
    return Record(step=step, epoch=0, rate=1e-3, train_loss=2.0, loss=loss, seconds=1.5)


def test_the_best_is_the_lowest_and_of_equals_the_first():
    history = History()
    assert history.best is None and history.looks_since_best == 0
    seen = []
    for step, loss in enumerate([3.0, 2.0, 2.5, 2.0, 1.0], start=1):
        history.add(record(step, loss))
        seen.append((history.best.step, history.looks_since_best))
    assert seen == [(1, 0), (2, 0), (2, 1), (2, 2), (5, 0)]


def test_not_a_number_is_never_the_best_of_several():
    history = History([record(1, math.nan), record(2, 5.0), record(3, math.nan)])
    assert history.best.step == 2 and history.looks_since_best == 1
    assert History([record(1, math.nan), record(2, math.nan)]).best is None


def test_through_json_and_back():
    history = History([record(1, 1 / 3), record(2, 0.1 + 0.2)])
    assert History.from_json(json.loads(json.dumps(history.to_json()))).records == history.records
