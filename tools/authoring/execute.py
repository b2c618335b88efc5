"""Run a notebook whole, in a fresh kernel whose surroundings are the same on every machine.

>>> outputs = await execute(draft, "learner", PROJECT_ROOT / "notebooks")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import tempfile
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.cell_kinds import CODE
from tools.authoring.editions import LessonDraft
from tools.authoring.outputs import excerpt, stripped
from tools.authoring.source import Cell, LessonError

SECONDS_A_CELL = 600
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")


def kernel_environment(edition: str, home: Path) -> dict[str, str]:
    """The environment a lesson's kernel runs in. nbval must use the same one to see the same outputs."""
    # A caller's switches would leak into what we store; MPLBACKEND would silence inline figures.
    ours = ("COURSE_", "PYTEST_", "MPLBACKEND", "PYTHONSTARTUP")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {
        "COURSE_HOME": str(home / "course"),
        "COURSE_DEVICE": "cpu",
        "COURSE_BAR": "0",  # a bar's last state differs from run to run
        "IPYTHONDIR": str(home / "ipython"),  # nobody's start-up files, no shared history database
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT_ROOT), environment.get("PYTHONPATH")])),
        "PYTHONHASHSEED": "0",
        # Sums over several threads are cut differently on machines with other core counts, and two
        # lessons are built side by side.
        "OMP_NUM_THREADS": "1",
    }
    return environment | ({} if edition == "learner" else {"COURSE_STRICT": "1", "COURSE_OPEN": "1"})


async def execute(draft: LessonDraft, edition: str, folder: Path) -> list[list[dict]]:
    """Run every cell in order with `folder` as the working folder; hand back what each code cell put out.

    A cell that raises, hangs or kills the kernel becomes a LessonError with its line in the source.
    """
    cells, started = draft.cells[edition], []
    client = NotebookClient(
        draft.notebook(edition),
        timeout=SECONDS_A_CELL,
        iopub_timeout=60,  # on a busy machine the last outputs come late: wait, and never go on without them
        raise_on_iopub_timeout=True,
        shutdown_kernel="immediate",  # a cell that hangs would not answer a polite request
        on_notebook_start=leave_ctrl_c_alone,
        on_cell_execute=lambda cell, cell_index: started.append(cells[cell_index]),
    )
    with tempfile.TemporaryDirectory(prefix="lesson-", ignore_cleanup_errors=True) as home:
        client.km = kernel_manager(Path(home))
        environment, log = kernel_environment(edition, Path(home)), Path(home) / "kernel.log"
        try:
            with log.open("wb") as stream:
                await client.async_execute(env=environment, cwd=str(folder), stdout=stream, stderr=stream)
        except CellExecutionError as error:
            raise LessonError(*raised(cells, started[-1], error)) from None
        except (CellTimeoutError, RuntimeError) as error:  # it hangs, or the kernel died or never started
            last_words = log.read_text(errors="replace")[-400:]
            message = f"the kernel was stopped: {excerpt(f'{error} {last_words}', 400)}"
            raise LessonError(started[-1].line if started else 1, message) from None
    return [stripped(cell["outputs"]) for cell in client.nb["cells"] if cell["cell_type"] == CODE]


def kernel_manager(home: Path) -> AsyncKernelManager:
    """A kernel of the interpreter that builds, whatever kernels this machine has registered."""
    specs, connection = KernelSpecManager(kernel_dirs=[]), str(home / "kernel.json")
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs, connection_file=connection)
    if os.name == "posix":
        manager.transport = "ipc"  # files in our own folder: no race with other kernels for a free port
    return manager


def leave_ctrl_c_alone(notebook: dict) -> None:
    """nbclient takes Ctrl-C for itself and ends one kernel; we want Python's way, which ends them all."""
    with contextlib.suppress(RuntimeError):  # not on Windows, not outside the main thread
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def raised(cells: list[Cell], cell: Cell, error: CellExecutionError) -> tuple[int, str]:
    """Which line raised what: the innermost that stands in the lesson."""
    code_cells = [each for each in cells if each.form == CODE]
    frames = FRAME.findall(COLOUR.sub("", error.traceback))
    lines = [code_cells[int(count) - 1].lines[int(line) - 1] for count, line in frames] or [cell.line]
    message = f"{error.ename}: {excerpt(error.evalue, 300)}"
    return lines[-1], f"the {cell.kind} cell of line {cell.line} raises {message}"
