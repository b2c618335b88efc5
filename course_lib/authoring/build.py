"""`course_lib build`: every lesson source into its notebooks, or a look whether the stored ones are fresh.

>>> build_all(["08"])                  # the learner's, solved and instructor's notebook of lesson 08
>>> build_all([], check=True)          # are all stored notebooks what their sources say?
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from course_lib.authoring.cells import CODE
from course_lib.authoring.draft import Draft, draft, sources, target
from course_lib.authoring.fresh import orphans, staleness
from course_lib.authoring.notebook import EDITIONS, as_text
from course_lib.authoring.outputs import check_outputs
from course_lib.authoring.problem import LessonError
from course_lib.runtime import PROJECT_ROOT, write_atomically

SIDE_BY_SIDE = 2  # kernels at once: each takes a core and, with torch, some 300 MB


def build_all(
    numbers: Sequence[str],
    check: bool = False,
    editions: Sequence[str] = EDITIONS,
    *,
    root: Path = PROJECT_ROOT,
) -> int:
    """Build the lessons named by number or topic (all where none is named); 0 when all is well.

    With `check` nothing is run or written: the stored learner's notebooks are compared with their
    sources. Every problem of every lesson is printed, with file and line.
    """
    start = time.perf_counter()
    every = sources(root)
    chosen, complaints = choose(every, numbers)
    drafts: list[Draft] = []
    for path in chosen:
        try:
            drafts.append(draft(path, root))
        except* LessonError as group:
            complaints += [str(problem) for problem in group.exceptions]
    if check:
        complaints += [text for each in drafts for text in staleness(root, each)]
        complaints += orphans(root, every) if not numbers else []
        done = f"{counted(len(chosen), 'lesson')} looked at"
    else:
        try:
            built, more = asyncio.run(build_drafts(root, drafts, editions))
        except KeyboardInterrupt:
            print("Stopped. Notebooks already written stay as they are.", file=sys.stderr)
            return 130
        complaints += more
        done = f"{counted(built, 'notebook')} built in {time.perf_counter() - start:.1f} s"
    for text in complaints:
        print(text, file=sys.stderr)
    print(f"{done}, {counted(len(complaints), 'problem')}." if complaints else f"{done}, all well.")
    return 1 if complaints else 0


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def called(folder: str) -> tuple[str, ...]:
    """The names by which a lesson is asked for: "08", "query_key_value", "08_query_key_value"."""
    return folder[:2], folder[3:], folder


def choose(every: list[Path], names: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The sources called "08", "8", "query_key_value" or "08_query_key_value"; all of them for no name."""
    if not every:
        return [], ["There is no lesson in notebooks/source. See docs/writing_a_lesson.md."]
    if not names:
        return every, []
    chosen, complaints = [], []
    for name in names:
        wanted = f"{name:0>2}" if name.isdecimal() else name
        found = [
            path for path in every if wanted in (path.parent.name[:2], path.parent.name[3:], path.parent.name)
        ]
        chosen += found
        if not found:
            complaints.append(
                f"There is no lesson {name!r}. There are: {', '.join(path.parent.name for path in every)}."
            )
    return list(dict.fromkeys(chosen)), complaints


async def build_drafts(root: Path, drafts: list[Draft], editions: Sequence[str]) -> tuple[int, list[str]]:
    """Run and store every edition, a few kernels at a time: how many were written, and what went wrong."""
    gate = asyncio.Semaphore(SIDE_BY_SIDE)
    # Solved and instructor's differ in prose alone: one run serves both.
    runs = [
        [edition for edition in group if edition in editions]
        for group in (("learner",), ("solved", "instructor"))
    ]
    jobs = [(each, run) for each in drafts for run in runs if run]
    results = await asyncio.gather(*(build_editions(root, each, run, gate) for each, run in jobs))
    met: dict[str, list[str]] = {}
    for (_, run), (_, problems) in zip(jobs, results, strict=True):
        for problem in problems:
            met.setdefault(str(problem), []).append(run[0])
    written = sum(count for count, _ in results)
    return written, [f"{text} [{', '.join(where)}]" for text, where in met.items()]


async def build_editions(
    root: Path, work: Draft, editions: list[str], gate: asyncio.Semaphore
) -> tuple[int, list[LessonError]]:
    """Run one notebook and store it in the editions that share its code cells."""
    from course_lib.authoring.execute import execute  # Jupyter's imports take two seconds; a check needs none

    lesson, cells = work.lesson, work.cells[editions[0]]
    folder = root / "notebooks"
    async with gate:
        start = time.perf_counter()
        try:
            executed = await execute(lesson.path, cells, work.notebook(editions[0]), folder)
        except LessonError as problem:
            return 0, [problem]
        seconds = time.perf_counter() - start
    for edition in editions:
        notebook = with_outputs(work.notebook(edition), executed)
        problems = check_outputs(lesson.path, work.cells[edition], notebook)
        if problems:
            return 0, problems
        path, text = target(root, lesson, edition), as_text(notebook)
        write_atomically(path, text)
        code = sum(cell.form == CODE for cell in work.cells[edition])
        print(
            f"{path.relative_to(root).as_posix():50} {len(notebook['cells']):3} cells, {code:2} code, "
            f"{lesson.minutes:g} min, {len(text.encode()) // 1000} kB, run in {seconds:.1f} s",
            flush=True,
        )
    return len(editions), []


def with_outputs(notebook: dict, executed: dict) -> dict:
    """The notebook with the outputs of another one that has the same code cells."""
    pairs = zip(
        [cell for cell in notebook["cells"] if cell["cell_type"] == CODE],
        [cell for cell in executed["cells"] if cell["cell_type"] == CODE],
        strict=True,
    )
    for cell, ran in pairs:
        cell["outputs"], cell["execution_count"] = ran["outputs"], ran["execution_count"]
    return notebook
