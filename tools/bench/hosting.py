"""What a learner needs on a JupyterHub, in memory and CPU time: `python3 -m course_lib bench hosting`.

        peak MB  again  own MB  …  CPU s  longest cell
    06      437    +15     294  …    8.6     setup 5.1

Every lesson runs as for a learner who solves everything, alone in a kernel with one thread. Then all of its
cells run again in the same kernel, to see whether its memory keeps growing.

`python3 -m tools.bench.hosting` stores the result in data/results; with `06` after it, it replaces only the
figures of that lesson. tests/hub measures the servers. tools/sizing makes a section of docs/hosting.md from
both records.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from time import process_time

import torch
from nbclient import NotebookClient

from course_lib.runtime import PROJECT_ROOT, data_path, write_json
from lessons.l17_what_it_costs.timing import columns, conditions
from tools.authoring.build import choose, draft, working_folder
from tools.authoring.editions import LessonDraft
from tools.authoring.execute import execute
from tools.authoring.lesson import sources
from tools.authoring.source import LessonError
from tools.bench.explorables import explorables, time_moves
from tools.bench.kernel_meter import KernelMeter, Reading, rounded, size_of
from tools.cli.environment import CommandError

COMMAND, EDITION = "python3 -m tools.bench.hosting", "solved"
PACKAGES = ("torch", "ipykernel", "jupyterlab")
FULL_RUN = "15"  # the lesson with an optional training run, and the line that switches it on
SWITCH = ("FULL = False", "FULL = True")
HEAD = [
    "",
    "peak MB",
    "again",
    "own MB",
    "files MB",
    "PSS MB",
    "CPU s",
    "start",
    "ms per move",
    "longest cell",
]
SHORT_NOTEBOOKS = PROJECT_ROOT / "notebooks" / "short"  # each learner has a copy of these too

ABOUT = """\
Each lesson, solved, in a kernel of its own with one thread; then all its cells once more in the same kernel.
peak          the most memory that the kernel used, and how much that grows in the second run (again)
own, files    memory at the end of the first run: its own, and mapped files such as libraries, which are in
              memory once for all kernels of a machine
PSS           own memory and a share of these files, which depends on the other programs that use them
CPU s         CPU seconds of the first run, including the start of the kernel
start         … of these, for the start of the kernel and the setup cell
ms per move   CPU milliseconds for each change of a control in the lesson's interactive figures, on average
longest cell  its kind and CPU seconds"""


def run(names: Sequence[str] = ()) -> dict:
    """Measure these lessons (default: all); print a table and return the numbers."""
    if sys.platform != "linux":
        raise CommandError(f"This benchmark reads /proc and runs only on Linux, not on {sys.platform}.")
    paths, problems = choose(sources(PROJECT_ROOT), names)
    if problems:
        raise CommandError(*problems)
    machine = conditions(*PACKAGES)
    print(machine, "", ABOUT, "", sep="\n", flush=True)
    drafts, lessons = [draft(path, PROJECT_ROOT) for path in paths], {}
    result = {"command": COMMAND, "machine": machine, "lessons": lessons}
    for made in drafts:
        try:
            lessons[made.lesson.number] = measure_lesson(made) | {"ms_per_move": move_cost(made)}
            if made.lesson.number == FULL_RUN:
                result["full_run"] = measure_full_run(made)
        except LessonError as problem:
            raise CommandError(problem.at(made.lesson.path)) from None
        print(f"{made.lesson.name} measured", flush=True)
    print("", columns(HEAD, [row(*item) for item in lessons.items()]), sep="\n")
    return result | {"short_notebooks_bytes": size_of(SHORT_NOTEBOOKS)}


def row(number: str, figures: dict) -> list[str]:
    keys = ("own_mb", "files_mb", "pss_mb", "cpu_seconds", "start_cpu_seconds", "ms_per_move")
    again, longest = figures["peak_again_mb"] - figures["peak_mb"], figures["longest_cell"]
    values = [
        figures["peak_mb"],
        f"{again:+}",
        *("–" if figures[key] is None else figures[key] for key in keys),
    ]
    return [number, *map(str, values), f"{longest['kind']} {longest['cpu_seconds']}"]


def measure_lesson(made: LessonDraft) -> dict:
    """Run a lesson twice in one kernel."""
    meter = KernelMeter()
    asyncio.run(execute(made, EDITION, folder(), times=2, watch=meter.watch))
    n_cells = len(meter.readings) // 2
    first, again = meter.readings[:n_cells], meter.readings[n_cells:]
    second = rounded(again[-1].memory)
    return summary(first) | {
        "peak_again_mb": second["peak_mb"],
        "own_again_mb": second["own_mb"],
        "cpu_seconds_again": round(again[-1].total_cpu - first[-1].total_cpu, 1),
    }


def measure_full_run(made: LessonDraft) -> dict:
    """Run the lesson once, with its optional training run."""
    meter = KernelMeter()

    def watch(client: NotebookClient, home: Path) -> None:
        for cell in client.nb["cells"]:
            cell["source"] = cell["source"].replace(*SWITCH)
        meter.watch(client, home)

    asyncio.run(execute(made, EDITION, folder(), watch=watch))
    return summary(meter.readings)


def folder() -> Path:
    return working_folder(PROJECT_ROOT, EDITION)


def summary(readings: list[Reading]) -> dict:
    """The figures of one run, from the readings after its cells."""
    longest, last = max(readings, key=lambda reading: reading.cell_cpu), readings[-1]
    cell = {"kind": longest.kind, "section": longest.section, "cpu_seconds": round(longest.cell_cpu, 1)}
    largest = next(reading for reading in readings if reading.memory["peak"] >= 0.95 * last.memory["peak"])
    return rounded(last.memory) | {
        "cpu_seconds": round(last.total_cpu, 1),
        "start_cpu_seconds": round(readings[0].total_cpu, 1),
        "longest_cell": cell,
        "largest_cell": {"kind": largest.kind, "section": largest.section},
        "written_bytes": last.written,
        "notebook_bytes": last.notebook,
    }


def move_cost(made: LessonDraft) -> float | None:
    """The mean CPU milliseconds of moving a control in the lesson's explorables; None if it has none."""
    torch.set_num_threads(1)
    package = f"lessons.l{made.lesson.name}."
    kinds = [kind for kind in explorables().values() if kind.__module__.startswith(package)]
    return round(mean(mean(time_moves(kind, process_time)) for kind in kinds), 1) if kinds else None


def store(names: Sequence[str]) -> None:
    """Measure, and write the record. Lessons that are not named keep their figures of an earlier run."""
    path, result = data_path("results") / "hosting.json", run(names)
    stored = json.loads(path.read_text(encoding="utf-8")) if names else {"lessons": {}}
    lessons = dict(sorted((stored["lessons"] | result["lessons"]).items()))
    write_json(path, stored | result | {"lessons": lessons})


if __name__ == "__main__":
    store(sys.argv[1:])
