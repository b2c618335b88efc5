"""The sizing section of docs/hosting.md as Markdown; `build` writes it into the page.

page_with_sizing(page, measured, trial, lessons)

`measured` is data/results/hosting.json: each lesson, run by one learner. `trial` is data/results/hub.json:
one lesson, run by several learners at once on a real hub, and the memory of the servers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from statistics import median

from course_lib.teaching.contents import Lesson
from tools.authoring.editions import table
from tools.sizing import arithmetic
from tools.sizing.arithmetic import Demand, Hub, demand_of, disk_mb, hub_of, largest, rush_seconds, typical

PAGE, MEASURED, TRIAL = "docs/hosting.md", "data/results/hosting.json", "data/results/hub.json"
TEXT = Path(__file__).with_name("section.md")
UNIT = re.compile(r"(?<=\d) (?=(?:GB|MB|s)\b)")
IN_PAGE = re.compile(r"(?<=<!-- sizing -->\n).*?(?=<!-- end of sizing -->)", re.DOTALL)
CLASSES = (10, 25, 40, 50, 100, 250, 500, 1000)
EXAMPLE = 40  # learners
Figures = Mapping[Lesson, Mapping]


def page_with_sizing(page: str, measured: Mapping, trial: Mapping, lessons: Sequence[Lesson]) -> str:
    """The page with the section between its two comments."""
    return IN_PAGE.sub(lambda _: f"\n{section(measured, trial, lessons)}\n", page)


def section(measured: Mapping, trial: Mapping, lessons: Sequence[Lesson]) -> str:
    figures = {lesson: measured["lessons"][lesson.number] for lesson in lessons}
    demands = {lesson: demand_of(of_lesson, lesson.minutes) for lesson, of_lesson in figures.items()}
    hub = hub_of(measured["lessons"], trial["servers"])
    tables = {
        "lesson_table": lesson_table(figures, hub.server_mb),
        "class_table": class_table(list(demands.values()), hub, disk_mb(measured)),
        "trial_table": trial_table(trial, measured["lessons"]),
    }
    numbers = lesson_numbers(figures, measured["full_run"], trial["servers"])
    numbers |= class_numbers(demands, figures, hub) | trial_numbers(trial)
    numbers |= {"machine": measured["machine"], "disk_mb": disk_mb(measured)}
    unbroken = {name: UNIT.sub("\N{NO-BREAK SPACE}", made) for name, made in tables.items()}
    return TEXT.read_text(encoding="utf-8").format(**unbroken, **numbers)


# ---- one learner


def lesson_table(figures: Figures, server_mb: float) -> str:
    rows = []
    for lesson, of_lesson in figures.items():
        peak, longest = of_lesson["peak_mb"], of_lesson["longest_cell"]
        row = [lesson.label, f"{peak:,} MB", f"{peak + server_mb:,} MB", f"{of_lesson['cpu_seconds']:.0f} s"]
        row += [f"{longest['cpu_seconds']:.1f} s ({place(longest)})"]
        rows.append(row)
    return table(1, ["lesson", "kernel, peak", "with the server", "CPU time", "longest cell"], rows)


def place(cell: Mapping) -> str:
    """Where a cell is: its section's number, or the heading if it has none; its kind before any heading.

    >>> place({"section": "4 · A larger network", "kind": "train"})
    'section 4'
    """
    number = re.match(r"\d+(?= ·)", cell["section"])
    return f"section {number[0]}" if number else cell["section"] or cell["kind"]


def lesson_numbers(figures: Figures, full_run: Mapping, servers: Mapping) -> dict[str, object]:
    growth = {lesson: of["peak_again_mb"] - of["peak_mb"] for lesson, of in figures.items()}
    growing = max(growth, key=growth.get)
    largest = max(figures, key=lambda lesson: figures[lesson]["peak_mb"])
    return {
        "kernel_mb": f"{median(of_lesson['peak_mb'] for of_lesson in figures.values()):.0f}",
        "largest": largest.number,
        "largest_mb": figures[largest]["peak_mb"],
        "largest_place": place(figures[largest]["largest_cell"]),
        "server_mb": servers["jupyterhub-singleuser"]["peak_mb"],
        "hub_mb": servers["jupyterhub"]["peak_mb"],
        "proxy_mb": servers["configurable-http-proxy"]["peak_mb"],
        "files_mb": f"{median(of_lesson['files_mb'] for of_lesson in figures.values()):.0f}",
        "growth_mb": growth[growing],
        "growing": growing.number,
        "full_seconds": f"{full_run['longest_cell']['cpu_seconds']:.0f}",
        "full_mb": f"{full_run['peak_mb']:,}",
    }


# ---- a class


def class_table(demands: Sequence[Demand], hub: Hub, disk: int) -> str:
    usual, large = typical(demands), largest(demands)
    size = f"machines with {arithmetic.NODE_CORES} cores, {arithmetic.NODE_GB} GB"
    head = ["learners", "memory, typical lesson", "memory, largest lesson", "busy cores", "cores for a rush"]
    rows = []
    for n in CLASSES:
        sign_in = rush_seconds(n, hub.sign_in_seconds, arithmetic.cores(n, usual))
        row = [f"{n:,}", f"{hub.memory_gb(n, usual):,} GB", f"{hub.memory_gb(n, large):,} GB"]
        row += [str(arithmetic.average_cores(n, usual)), str(arithmetic.rush_cores(n, usual))]
        row += [
            f"{ceil(sign_in)} s",
            f"{arithmetic.SYSTEM_DISK_GB + ceil(n * disk / 1000):,} GB",
            str(ceil(n / hub.learners_per_node(usual))),
        ]
        rows.append(row)
    return table(0, [*head, "until all are signed in", "disk", size], rows)


def class_numbers(demands: Mapping[Lesson, Demand], figures: Figures, hub: Hub) -> dict[str, object]:
    usual, large = typical(list(demands.values())), largest(list(demands.values()))
    slowest = max(demands, key=lambda lesson: demands[lesson].cell_seconds)
    cores, per_node = arithmetic.cores(EXAMPLE, usual), hub.learners_per_node(usual)
    moves = [of["ms_per_move"] for of in figures.values() if of["ms_per_move"] is not None]
    return {
        "headroom": arithmetic.HEADROOM,
        "forgotten": arithmetic.FORGOTTEN,
        "idle_mb": f"{hub.idle_kernel_mb:.0f}",
        "system_mb": f"{arithmetic.SYSTEM_MB:,}",
        "system_gb": f"{arithmetic.SYSTEM_MB / 1000:.0f}",
        "system_disk_gb": arithmetic.SYSTEM_DISK_GB,
        "moves": arithmetic.MOVES,
        "move_ms": f"{median(moves):.0f}",
        "sign_in_seconds": f"{hub.sign_in_seconds:.1f}",
        "cell_seconds": f"{usual.cell_seconds:.1f}",
        "longest_wait": arithmetic.LONGEST_WAIT,
        "slowest": slowest.number,
        "slowest_place": place(figures[slowest]["longest_cell"]),
        "slowest_wait": ceil(rush_seconds(EXAMPLE, demands[slowest].cell_seconds, cores)),
        "slowest_cores": arithmetic.rush_cores(EXAMPLE, demands[slowest]),
        "example": EXAMPLE,
        "example_cores": cores,
        "example_gb": hub.memory_gb(EXAMPLE, large),
        "example_sign_in": ceil(rush_seconds(EXAMPLE, hub.sign_in_seconds, cores)),
        "rented_cores": rented(cores),
        "rented_threads": 2 * rented(cores),
        "rented_gb": rented(hub.memory_gb(EXAMPLE, large)),
        "node_cores": arithmetic.NODE_CORES,
        "node_gb": arithmetic.NODE_GB,
        "per_node": per_node,
        "per_node_largest": hub.learners_per_node(large),
        "node_wait": ceil(rush_seconds(per_node, usual.cell_seconds, arithmetic.NODE_CORES)),
    }


def rented(needed: int) -> int:
    """The next power of two: the sizes that providers rent.

    >>> rented(52), rented(4)
    (64, 4)
    """
    return 1 << (needed - 1).bit_length()


# ---- a real hub


def trial_table(trial: Mapping, lessons: Mapping[str, Mapping]) -> str:
    """What was measured with several learners, and what the measurement of one learner predicts."""
    alone, n, kernel = lessons[trial["lesson"]], trial["learners"], trial["kernel"]
    pss = alone["own_mb"] + alone["files_mb"] / n
    start = rush_seconds(n, trial["servers"]["jupyterhub-singleuser"]["start_cpu_seconds"], trial["cores"])
    seconds = rush_seconds(n, alone["cpu_seconds"], trial["cores"])
    rows = [
        ["until a server has started", f"{trial['start_seconds']['median']:.0f} s", f"{start:.0f} s"],
        ["memory of a kernel, peak", f"{kernel['peak_mb']} MB", f"{alone['peak_mb']} MB"],
        ["memory of a kernel, PSS", f"{kernel['pss_mb']} MB", f"{pss:.0f} MB"],
        ["CPU time of a kernel", f"{kernel['cpu_seconds']:.0f} s", f"{alone['cpu_seconds']:.0f} s"],
        ["until all cells have run", f"{trial['run_seconds']['median']:.0f} s", f"{seconds:.0f} s"],
    ]
    return table(1, ["", "measured (median)", "predicted"], rows)


def trial_numbers(trial: Mapping) -> dict[str, object]:
    return {f"trial_{name}": trial[name] for name in ("learners", "lesson", "machine")}
