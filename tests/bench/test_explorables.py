"""The bench: its arithmetic, its verdicts, its moves; and (slow) one real measurement in a kernel."""

from __future__ import annotations

from itertools import islice
from statistics import median

import pytest

from course_lib.bench import explorables as bench
from course_lib.bench import in_kernel
from course_lib.explore import SaturationLab, SoftDictionary


def row(**changes) -> bench.Row:
    plain = {
        "name": "Dial",
        "kernel": [9.0] * 20,
        "interact": [300.0] * 20,
        "kernel_bytes": 2e4,
        "interact_bytes": 6e4,
        "browser": [60.0] * 20,
    }
    return bench.Row(**{**plain, **changes})


def test_percentile():
    assert bench.p95([float(i) for i in range(101)]) == pytest.approx(95)


def test_all_targets_met():
    verdicts = bench.judge([row(), row(name="Lab", kernel=[12.0] * 20)])
    assert [good for good, _ in verdicts] == [True, True, True]
    assert "12.0 ms, Lab" in verdicts[0][1]


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"kernel": [9.0] * 10 + [26.0] * 10}, 0),
        ({"interact": [89.0] * 20}, 1),
        ({"browser": [121.0] * 20}, 2),
    ],
)
def test_each_miss_is_named(changes, missed):
    verdicts = bench.judge([row(), row(name="Slow", **changes)])
    assert [good for good, _ in verdicts] == [i != missed for i in range(3)]
    assert "Slow" in verdicts[missed][1]


def test_without_a_browser_nothing_is_said_of_it():
    assert len(bench.judge([row(browser=[])])) == 2
    assert "–" in bench.table([row(browser=[])])


def test_the_table_shows_it_side_by_side():
    line = bench.table([row()]).splitlines()[1]
    assert line.split() == [
        "Dial",
        "9.0",
        "/",
        "9.0",
        "300",
        "/",
        "300",
        "33×",
        "20",
        "/",
        "60",
        "kB",
        "60",
        "/",
        "60",
    ]


@pytest.mark.parametrize("kind", [SaturationLab, SoftDictionary])
def test_the_moves_sweep_every_control(kind):
    explorable = kind()
    moves = list(islice(in_kernel.stops(explorable), 120))
    assert {name for name, _ in moves} == set(explorable.state)
    assert len({value for name, value in moves if name == kind.controls[0].trait}) == len(
        kind.class_traits()[kind.controls[0].trait].values
    )
    for name, value in moves:
        setattr(explorable, name, value)  # none is refused


def test_run_returns_the_verdict(monkeypatch, capsys):
    measured = {"kernel": [9.0] * 20, "interact": [300.0] * 20, "kernel_bytes": 1.0, "interact_bytes": 1.0}
    monkeypatch.setattr(bench, "_measure", lambda name: measured)
    monkeypatch.setattr(bench, "_in_browser", lambda: "no Chromium on this machine")
    assert bench.run() == 0
    out = capsys.readouterr().out
    assert "Chromium: not measured (no Chromium on this machine)" in out and "MISS" not in out
    measured["kernel"] = [99.0] * 20
    assert bench.run() == 1
    assert "MISS  a move costs at most 25 ms" in capsys.readouterr().out


@pytest.mark.slow
def test_a_real_kernel():
    measured = bench._measure("SoftmaxDial")
    assert len(measured["kernel"]) == in_kernel.OUR_MOVES
    assert median(measured["interact"]) > 10 * median(measured["kernel"])
    assert 5_000 < measured["kernel_bytes"] < measured["interact_bytes"]
