"""Each notebook's cells in random orders, in a real kernel, as learners get them.

An error that a learner understands is fine: a NameError in their cell, or a message of the course. A kernel
that dies, a cell that hangs, or a traceback from inside the course is not.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.execute import COLOUR, kernel_environment, kernel_manager

NOTEBOOKS = sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
N_ORDERS = 5
LONGEST_CELL = 300
MESSAGES = (
    "ValueError",
    "TypeError",
    "NotImplementedError",
    "AssertionError",
    "CheckInside",
    "KeyboardInterrupt",
)
FRAMES = re.compile(r"^(?:File (\S+?):\d+|(Cell) In\[\d+\], line \d+)", re.MULTILINE)


def surprising(output: dict) -> str:
    """An error that comes from inside the course and isn't one of its messages; else an empty text."""
    if output["output_type"] != "error":
        return ""
    lines = COLOUR.sub("", "\n".join(output["traceback"]))
    inside = [file for file, _ in FRAMES.findall(lines)][-1:]  # the last frame: empty if it is a cell's
    if not any(inside) or output["ename"] in MESSAGES:
        return ""
    return f"{output['ename']}: {output['evalue'][:200]} in {inside[0]}"


async def run_cells(notebook: nbformat.NotebookNode, order: list[int], home: Path, end: float) -> list[str]:
    client = NotebookClient(notebook, timeout=LONGEST_CELL, allow_errors=True, shutdown_kernel="immediate")
    client.km = kernel_manager(home)
    client.reset_execution_trackers()
    environment, problems = kernel_environment("learner", home), []
    async with client.async_setup_kernel(env=environment, cwd=str(home)):
        for n_run, index in enumerate(order):
            if time.monotonic() > end and n_run > 5:
                break
            cell = await client.async_execute_cell(notebook.cells[index], index)
            texts = filter(None, map(surprising, cell["outputs"]))
            problems += [f"cell {index} (number {n_run} of this order): {text}" for text in texts]
        assert await client.km.is_alive(), "the kernel died"
    return problems


@pytest.mark.soak(weight=30)
def test_cells_in_random_order(soak):
    def run(case):
        name, number = case
        notebook = nbformat.read(PROJECT_ROOT / "notebooks" / name, as_version=4)
        order = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        random.Random(number).shuffle(order)
        with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as home:
            problems = asyncio.run(run_cells(notebook, order, Path(home), soak.end))
        assert not problems, "\n".join(problems)

    cases = [(path.name, soak.random.getrandbits(32)) for path in NOTEBOOKS for _ in range(N_ORDERS)]
    soak.each(cases, run, limit=3600)
