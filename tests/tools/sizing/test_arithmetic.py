"""The arithmetic of a class, on made-up measurements."""

from __future__ import annotations

import pytest

from tools.sizing import arithmetic
from tools.sizing.arithmetic import (
    Demand,
    Hub,
    average_cores,
    cores,
    demand_of,
    disk_mb,
    hub_of,
    largest,
    rush_cores,
    rush_seconds,
    typical,
)

HUB = Hub(shared_mb=1200, server_mb=150, idle_kernel_mb=400, sign_in_seconds=7)
SMALL = Demand(kernel_mb=450, cell_seconds=6, load=0.004)
LARGE = Demand(kernel_mb=1450, cell_seconds=30, load=0.1)


@pytest.fixture(autouse=True)
def assumptions(monkeypatch):
    """The tests are about the formulas, not about what the page assumes."""
    values = {"FORGOTTEN": 0.5, "MOVES": 200, "HEADROOM": 1.25, "SYSTEM_MB": 1000, "LONGEST_WAIT": 60}
    for name, value in (values | {"COPIES": 2, "NODE_CORES": 16, "NODE_GB": 64}).items():
        monkeypatch.setattr(arithmetic, name, value)


def test_memory_is_that_of_the_hub_and_of_all_learners_with_headroom():
    assert HUB.memory_gb(10, SMALL) == 12  # 1.25 · (1.2 + 10 · (0.15 + 0.45 + 0.2)) = 11.5
    assert HUB.memory_gb(1000, SMALL) == 1002  # 1001.5
    assert HUB.memory_gb(10, LARGE) == 24


def test_cores_for_the_average_load_and_for_a_rush():
    assert (average_cores(25, SMALL), rush_cores(25, SMALL), cores(25, SMALL)) == (1, 3, 3)
    assert (average_cores(1000, LARGE), rush_cores(1000, LARGE)) == (125, 500)
    busy = Demand(kernel_mb=450, cell_seconds=1, load=0.5)
    assert (average_cores(25, busy), rush_cores(25, busy), cores(25, busy)) == (16, 1, 16)


def test_a_rush_lasts_as_long_as_the_cores_take_for_everyone():
    assert rush_seconds(25, 6, 3) == 50
    assert rush_seconds(2, 6, 8) == 6  # a cell isn't faster on several cores


@pytest.mark.parametrize("n", [10, 25, 1000])
def test_nobody_waits_too_long_with_the_cores_for_a_rush(n):
    for demand in (SMALL, LARGE):
        assert rush_seconds(n, demand.cell_seconds, rush_cores(n, demand)) <= 60


def test_a_node_is_full_when_its_memory_or_its_cores_are():
    assert HUB.learners_per_node(SMALL) == 62  # 1.25 · (1.2 + 62 · 0.8) = 63.5
    slow = Demand(kernel_mb=450, cell_seconds=60, load=0.004)
    assert HUB.learners_per_node(slow) == 16


def figures(peak_mb: float, **others) -> dict:
    usual = {"own_mb": 300, "files_mb": 100, "cpu_seconds": 20, "start_cpu_seconds": 3, "ms_per_move": 50}
    usual |= {"written_bytes": 1_000, "notebook_bytes": 500_000, "peak_mb": peak_mb}
    return usual | {"longest_cell": {"cpu_seconds": 5, "kind": "train", "section": ""}} | others


def test_the_demand_of_a_lesson_includes_its_interactive_figures():
    assert demand_of(figures(450), minutes=10) == Demand(450, 5, (20 + 200 * 0.05) / 600)
    assert demand_of(figures(450, ms_per_move=None), minutes=10).load == 20 / 600


def test_a_typical_lesson_has_the_median_of_each_figure():
    demands = [SMALL, LARGE, Demand(kernel_mb=500, cell_seconds=2, load=0.2)]
    assert typical(demands) == Demand(500, 6, 0.1) and largest(demands) == LARGE


def test_hub_and_disk_come_from_the_measurements():
    lessons = {"00": figures(450), "01": figures(900, own_mb=350, start_cpu_seconds=5), "02": figures(450)}
    servers = {"jupyterhub": {"peak_mb": 128}, "configurable-http-proxy": {"peak_mb": 61}}
    servers |= {"jupyterhub-singleuser": {"peak_mb": 155, "start_cpu_seconds": 4}}
    hub = hub_of(lessons, servers)
    assert hub == Hub(shared_mb=1189, server_mb=155, idle_kernel_mb=400, sign_in_seconds=7)
    measured = {"lessons": lessons, "short_notebooks_bytes": 2_300_000}
    measured |= {"full_run": figures(800, written_bytes=9_000_000)}
    assert disk_mb(measured) == 16  # 2 · 4 · 0.5 + 9.003 + 2.3 = 15.3
