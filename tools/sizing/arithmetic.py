"""How much memory, how many cores and how much disk a class needs on a hub.

    hub, demand = hub_of(lessons, servers), demand_of(lessons["14"], minutes=90)
    hub.memory_gb(25, demand), rush_cores(25, demand)

`lessons` is what one learner's kernel needs, from data/results/hosting.json (made by tools.bench.hosting).
`servers` is the rest, from data/results/hub.json (made by tests/hub). The constants are assumptions, which
docs/hosting.md states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

FORGOTTEN = 0.5  # kernels of other notebooks that still run, for each learner
MOVES = 200  # changes of a control in interactive figures, for each learner and lesson
HEADROOM = 1.25
SYSTEM_MB = 1000
SYSTEM_DISK_GB = 10  # with the installed course
LONGEST_WAIT = 60  # seconds
COPIES = 2  # of each notebook on the disk: JupyterLab keeps a checkpoint
NODE_CORES, NODE_GB = 16, 64


@dataclass(frozen=True)
class Demand:
    """What one learner needs in a lesson."""

    kernel_mb: float
    cell_seconds: float  # CPU time of the longest cell
    load: float  # cores that are busy on average


@dataclass(frozen=True)
class Hub:
    """What is needed apart from the lesson's kernel, and how many learners fit on a machine."""

    shared_mb: float  # operating system, hub and proxy
    server_mb: float
    idle_kernel_mb: float
    sign_in_seconds: float  # CPU time from signing in until the first cell has run

    def memory_gb(self, learners: int, demand: Demand) -> int:
        """
        >>> Hub(1200, 150, 400, 7).memory_gb(10, Demand(450, 5, 0.01))     # 1.25 · (1.2 + 10 · 0.8)
        12
        """
        one = self.server_mb + demand.kernel_mb + FORGOTTEN * self.idle_kernel_mb
        return ceil(HEADROOM * (self.shared_mb + learners * one) / 1000)

    def learners_per_node(self, demand: Demand) -> int:
        """How many a machine of the usual size has memory and cores for."""
        learners = 0
        while self.memory_gb(learners + 1, demand) <= NODE_GB and cores(learners + 1, demand) <= NODE_CORES:
            learners += 1
        return learners


def average_cores(learners: int, demand: Demand) -> int:
    return ceil(HEADROOM * learners * demand.load)


def rush_cores(learners: int, demand: Demand) -> int:
    """With so many, nobody waits too long if all learners run the longest cell at the same moment."""
    return ceil(learners * demand.cell_seconds / LONGEST_WAIT)


def cores(learners: int, demand: Demand) -> int:
    return max(average_cores(learners, demand), rush_cores(learners, demand))


def rush_seconds(learners: int, cpu_seconds: float, n_cores: int) -> float:
    """When the last learner has a result, if all start the same work at the same moment, one thread each."""
    return max(1, learners / n_cores) * cpu_seconds


# ---- from the measurements


def demand_of(figures: Mapping, minutes: float) -> Demand:
    """The demand of one lesson, whose learners take so many minutes."""
    cpu_seconds = figures["cpu_seconds"] + MOVES * (figures["ms_per_move"] or 0) / 1000
    return Demand(figures["peak_mb"], figures["longest_cell"]["cpu_seconds"], cpu_seconds / (60 * minutes))


def typical(demands: Sequence[Demand]) -> Demand:
    """The median of each figure."""
    figures = ("kernel_mb", "cell_seconds", "load")
    return Demand(*(median(getattr(demand, name) for demand in demands) for name in figures))


def largest(demands: Sequence[Demand]) -> Demand:
    """The demand of the lesson with the largest kernel."""
    return max(demands, key=lambda demand: demand.kernel_mb)


def hub_of(lessons: Mapping[str, Mapping], servers: Mapping[str, Mapping]) -> Hub:
    server = servers["jupyterhub-singleuser"]
    hub_and_proxy = sum(servers[name]["peak_mb"] for name in ("jupyterhub", "configurable-http-proxy"))
    first_cell = median(figures["start_cpu_seconds"] for figures in lessons.values())
    return Hub(
        shared_mb=SYSTEM_MB + hub_and_proxy,
        server_mb=server["peak_mb"],
        idle_kernel_mb=median(figures["own_mb"] + figures["files_mb"] for figures in lessons.values()),
        sign_in_seconds=server["start_cpu_seconds"] + first_cell,
    )


def disk_mb(measured: Mapping) -> int:
    """What a learner stores who runs every lesson and the full training run of lesson 15."""
    runs = [*measured["lessons"].values(), measured["full_run"]]
    notebooks = COPIES * sum(figures["notebook_bytes"] for figures in runs)
    written = sum(figures["written_bytes"] for figures in runs)
    return ceil((notebooks + written + measured["short_notebooks_bytes"]) / 1e6)
