"""A time limit on a computer that is idle, busy with other programs, or busy with several threads."""

from __future__ import annotations

import time

import pytest

from course_lib.teaching.exercises.time_limit import PATIENCE, TimeLimit


@pytest.mark.parametrize(
    ("on_the_clock", "of_cpu", "left"),
    [
        (4.0, 4.0, 1.0),  # the computer has nothing else to do
        (4.0, 1.5, 3.5),  # other programs got most of the time
        (4.0, 8.0, 1.0),  # two threads at once
        (4.0, 0.0, 5.0 - 4.0 / PATIENCE),  # it only waits
        (5.0 * PATIENCE, 0.0, 0.0),
    ],
)
def test_time_passes_with_the_cpu_and_four_times_slower_without_it(monkeypatch, on_the_clock, of_cpu, left):
    clocks = {"monotonic": 100.0, "process_time": 7.0}
    for name in clocks:
        monkeypatch.setattr(time, name, lambda name=name: clocks[name])
    limit = TimeLimit(5.0)
    assert limit.seconds_left() == 5.0
    clocks["monotonic"] += on_the_clock
    clocks["process_time"] += of_cpu
    assert limit.seconds_left() == pytest.approx(left)
