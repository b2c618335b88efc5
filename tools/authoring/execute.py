"""Run a whole notebook in a fresh kernel, in an environment that is the same on every machine.

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

from course_lib.models.own_file import FILE
from course_lib.runtime import PROJECT_ROOT, write_atomically
from tools.authoring.cell_kinds import CODE
from tools.authoring.editions import LessonDraft
from tools.authoring.outputs import clean_outputs, excerpt
from tools.authoring.source import Cell, LessonError

SECONDS_A_CELL = 600
OWN_FILE_LESSON = 14  # solved lessons after it train what the learner has written there
REFERENCE = PROJECT_ROOT / "lessons" / "l14_the_transformer" / "reference_transformer.py"
AS_LEARNERS_GET_IT = ("learner", "short", "core")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")


def kernel_environment(edition: str, home: Path) -> dict[str, str]:
    """The environment of a lesson's kernel. nbval must use the same one to get the same outputs."""
    # The caller's settings would affect stored outputs; MPLBACKEND would suppress inline figures.
    removed = ("COURSE_", "PYTEST_", "MPLBACKEND", "PYTHONSTARTUP")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    environment |= {
        "COURSE_HOME": str(home / "course"),
        "COURSE_DEVICE": "cpu",
        "COURSE_STILLS": "1",  # pictures as PNG
        "COURSE_BAR": "0",  # the last state of a progress bar differs from run to run
        "IPYTHONDIR": str(home / "ipython"),  # no start-up files of the user, no shared history database
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT_ROOT), environment.get("PYTHONPATH")])),
        "PYTHONHASHSEED": "0",
        # With several threads, sums are split differently on machines with other core counts; also, two
        # lessons are built at the same time.
        "OMP_NUM_THREADS": "1",
    }
    return environment | ({} if edition in AS_LEARNERS_GET_IT else {"COURSE_STRICT": "1", "COURSE_OPEN": "1"})


async def execute(draft: LessonDraft, edition: str, folder: Path) -> list[list[dict]]:
    """Run every cell in order in the working directory `folder`; return the outputs of each code cell.

    A cell that raises, hangs or kills the kernel becomes a LessonError with its line in the source.
    """
    cells, started = draft.completed(edition), []
    client = NotebookClient(
        draft.notebook(edition),
        timeout=SECONDS_A_CELL,
        iopub_timeout=60,  # on a busy machine the last outputs arrive late; never continue without them
        raise_on_iopub_timeout=True,
        shutdown_kernel="immediate",  # a hanging cell would not respond to a normal shutdown
        on_notebook_start=restore_ctrl_c,
        on_cell_execute=lambda cell, cell_index: started.append(cells[cell_index]),
    )
    with tempfile.TemporaryDirectory(prefix="lesson-", ignore_cleanup_errors=True) as home:
        client.km = kernel_manager(Path(home))
        environment, log = kernel_environment(edition, Path(home)), Path(home) / "kernel.log"
        if edition not in AS_LEARNERS_GET_IT and int(draft.lesson.number) > OWN_FILE_LESSON:
            write_atomically(Path(environment["COURSE_HOME"]) / FILE, REFERENCE.read_text(encoding="utf-8"))
        try:
            with log.open("wb") as stream:
                await client.async_execute(env=environment, cwd=str(folder), stdout=stream, stderr=stream)
        except CellExecutionError as error:
            raise LessonError(*locate_error(cells, started[-1], error)) from None
        except (CellTimeoutError, RuntimeError) as error:  # a cell hangs, or the kernel died or never started
            log_end = log.read_text(errors="replace")[-400:]
            message = f"the kernel was stopped: {excerpt(f'{error} {log_end}', 400)}"
            raise LessonError(started[-1].line if started else 1, message) from None
    return [clean_outputs(cell["outputs"]) for cell in client.nb["cells"] if cell["cell_type"] == CODE]


def kernel_manager(home: Path) -> AsyncKernelManager:
    """A kernel of the current interpreter, whatever kernels are registered on this machine."""
    specs, connection = KernelSpecManager(kernel_dirs=[]), str(home / "kernel.json")
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs, connection_file=connection)
    if os.name == "posix":
        manager.transport = "ipc"  # sockets in our own folder: no race with other kernels for a free port
    return manager


def restore_ctrl_c(notebook: dict) -> None:
    """Remove nbclient's handler, which ends one kernel; Python's own behaviour ends them all."""
    with contextlib.suppress(RuntimeError):  # not on Windows, not outside the main thread
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def locate_error(cells: list[Cell], cell: Cell, error: CellExecutionError) -> tuple[int, str]:
    """The line and message of an error: the innermost line that is in the lesson."""
    code_cells = [code_cell for code_cell in cells if code_cell.form == CODE]
    frames = FRAME.findall(COLOUR.sub("", error.traceback))
    lines = [code_cells[int(count) - 1].lines[int(line) - 1] for count, line in frames] or [cell.line]
    message = f"{error.ename}: {excerpt(error.evalue, 300)}"
    return lines[-1], f"the {cell.kind} cell on line {cell.line} raised {message}"
