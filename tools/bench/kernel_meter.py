"""The CPU time and memory of a kernel while it runs a notebook, read from outside through Linux's /proc.

meter = KernelMeter()
await execute(draft, "solved", folder, watch=meter.watch)
meter.readings[-1].memory["peak"]          # megabytes, after the last cell
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from nbclient import NotebookClient

from tools.authoring.editions import as_text

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
MEMORY = {"peak": "VmHWM", "own": "RssAnon", "files": "RssFile"}  # our names, and those in /proc/PID/status


@dataclass(frozen=True)
class Reading:
    """After a code cell: what the cell cost, and what the kernel has used since its start."""

    kind: str
    section: str
    cell_cpu: float  # seconds
    total_cpu: float
    memory: dict[str, float]  # megabytes
    written: int  # bytes in the learner's folder
    notebook: int  # bytes of the notebook, if it were saved now


class KernelMeter:
    """Takes a reading after every code cell. Pass `watch` to `tools.authoring.execute.execute`."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.section = ""

    def watch(self, client: NotebookClient, home: Path) -> None:
        self.client, self.home = client, home
        client.on_cell_start, client.on_cell_executed = self.before, self.after

    @property
    def kernel(self) -> psutil.Process:
        return psutil.Process(self.client.km.provisioner.pid)

    def before(self, cell: dict, cell_index: int) -> None:
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(cell["source"])):
            self.section = heading[1]
        self.cpu_before = cpu_seconds(self.kernel)

    def after(self, cell: dict, cell_index: int, execute_reply: dict) -> None:
        total = cpu_seconds(self.kernel)
        reading = Reading(
            kind=cell["metadata"]["course"]["kind"],
            section=self.section,
            cell_cpu=total - self.cpu_before,
            total_cpu=total,
            memory=memory(self.kernel),
            written=size_of(self.home),
            notebook=saved_size(self.client),
        )
        self.readings.append(reading)


def cpu_seconds(process: psutil.Process) -> float:
    """User and system time of a process and all its children, including those that have ended."""
    with suppress(psutil.NoSuchProcess):  # a child that ends just now
        return sum(process.cpu_times()[:4]) + sum(map(cpu_seconds, process.children()))
    return 0.0


def memory(process: psutil.Process) -> dict[str, float]:
    """In megabytes: the most so far, and now: own memory, mapped files such as libraries, and the PSS.

    Mapped files are in memory once, however many processes use them. The PSS (proportional set size) divides
    them by the number of these processes.
    """
    status = Path(f"/proc/{process.pid}/status").read_text()
    kib = dict(re.findall(r"^(\w+):\s+(\d+) kB$", status, re.MULTILINE))
    megabytes = {name: int(kib[field]) * 1024 / 1e6 for name, field in MEMORY.items()}
    return megabytes | {"pss": process.memory_full_info().pss / 1e6}


def rounded(megabytes: dict[str, float]) -> dict[str, int]:
    """For a record.

    >>> rounded({"peak": 437.6})
    {'peak_mb': 438}
    """
    return {f"{name}_mb": round(value) for name, value in megabytes.items()}


def saved_size(client: NotebookClient) -> int:
    """The bytes of the notebook with its outputs and the state of its widgets, which JupyterLab saves too."""
    client.set_widgets_metadata()
    cells = {cell["id"]: cell for cell in client.nb["cells"]}  # a cell that runs twice is saved once
    return len(as_text(client.nb | {"cells": list(cells.values())}).encode())


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder; 0 if it doesn't exist."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
