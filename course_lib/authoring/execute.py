"""Run a notebook whole, in a fresh kernel whose surroundings are the same on every machine.

>>> executed = await execute(draft, "learner", PROJECT_ROOT / "notebooks")
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import re
import signal
import tempfile
from pathlib import Path

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from course_lib.authoring.editions import Draft
from course_lib.authoring.kinds import CODE
from course_lib.authoring.outputs import excerpt, strip_outputs
from course_lib.authoring.source import Cell, LessonError
from course_lib.runtime import PROJECT_ROOT

SECONDS_A_CELL = 600
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")


def kernel_environment(edition: str, home: Path) -> dict[str, str]:
    """The environment a lesson's kernel runs in. nbval must use the same one to see the same outputs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # A caller's switches would leak into what we store; MPLBACKEND would silence inline figures.
        if not name.startswith(("COURSE_", "PYTEST_")) and name not in ("MPLBACKEND", "PYTHONSTARTUP")
    }
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


async def execute(draft: Draft, edition: str, folder: Path) -> dict:
    """Run every cell in order with `folder` as the working folder; hand back the notebook with outputs.

    A cell that raises, hangs or kills the kernel becomes a LessonError with its line in the source.
    """
    path, cells, notebook = draft.lesson.path, draft.cells[edition], draft.notebook(edition)
    node = nbformat.from_dict(notebook)
    started: list[int] = []
    client = NotebookClient(
        node,
        timeout=SECONDS_A_CELL,
        record_timing=False,
        store_widget_state=False,
        iopub_timeout=60,  # on a busy machine the last outputs come late: wait, and never go on without them
        raise_on_iopub_timeout=True,
        shutdown_kernel="immediate",  # a cell that hangs would not answer a polite request
        on_notebook_start=leave_ctrl_c_alone,
        on_cell_execute=lambda cell, cell_index: started.append(cell_index),
    )
    with tempfile.TemporaryDirectory(prefix="lesson-", ignore_cleanup_errors=True) as home:
        client.km = kernel_manager(Path(home))
        environment = kernel_environment(edition, Path(home))
        log = Path(home) / "kernel.log"
        try:
            with log.open("wb") as stream:
                await client.async_execute(env=environment, cwd=str(folder), stdout=stream, stderr=stream)
        except CellExecutionError as error:
            raise LessonError(*raised(cells, started[-1], error), path) from None
        except (CellTimeoutError, RuntimeError) as error:
            if not started:  # nbclient forgets its own clean-up then, and stumbles over it when Python ends
                atexit.unregister(client._cleanup_kernel)
            line = cells[started[-1]].line if started else 1
            raise LessonError(line, stopped(bool(started), error, log), path) from None
    # nbclient wrote the exact version of Python, which would change with every machine.
    node["metadata"]["language_info"] = notebook["metadata"]["language_info"]
    strip_outputs(node)
    nbformat.validate(node)
    return node


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


def raised(cells: list[Cell], at: int, error: CellExecutionError) -> tuple[int, str]:
    """Which line raised what; where the raise is in another cell's function, that line too."""
    code_cells = [cell for cell in cells if cell.form == CODE]
    frames = FRAME.findall(COLOUR.sub("", error.traceback))
    lines = [code_cells[int(count) - 1].lines[int(line) - 1] for count, line in frames]
    line = lines[0] if lines else cells[at].line
    deeper = f" (raised on line {lines[-1]})" if lines and lines[-1] != line else ""
    message = f"{error.ename}: {excerpt(error.evalue, 300)}{deeper}"
    return line, f"the {cells[at].kind} cell of line {cells[at].line} raises {message}"


def stopped(started: bool, error: Exception, log: Path) -> str:
    """Why a run came to no end: a cell that hangs, a kernel that died or never started."""
    if isinstance(error, CellTimeoutError):
        return f"the cell ran longer than {SECONDS_A_CELL} s"
    what = "the kernel died in this cell" if started else "the kernel did not start"
    reason = "" if isinstance(error, DeadKernelError) else f": {error}"
    return f"{what}{reason}. {excerpt(log.read_text(errors='replace')[-400:], 400)}".strip()
