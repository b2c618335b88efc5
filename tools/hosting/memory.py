"""Limit the memory of each process of a learner, and explain in the notebook when it is used up.

Without this, the system ends a notebook that needs too much, and the learner reads that the kernel has died.
MEM_LIMIT, which JupyterHub sets, is what the learner's processes may use together. The server needs a part of
it; each notebook and each command in a terminal may use the rest. The limit counts what a process has
allocated (RLIMIT_DATA); it is inherited, and can't be raised again. Limiting addresses (RLIMIT_AS) wouldn't
work: torch reserves gigabytes that it never uses.

As an IPython extension, this module shows what to do if a cell runs out of memory. The cell ends, its local
variables are freed, and the kernel goes on. What the cell has stored in global variables stays; if this
fills the memory, the message asks for a restart first.
"""

from __future__ import annotations

import os
import re
import resource
import traceback
from types import TracebackType
from typing import Any

from tools.cli.environment import CommandError

VARIABLE = "MEM_LIMIT"
FOR_THE_SERVER = 256 * 2**20  # bytes
RESERVE = 64 * 2**20  # bytes, for showing the message
OF_TORCH = re.compile("not enough memory|can't allocate memory|std::bad_alloc|can't start new thread")
FULL = 0.9  # the part of the limit above which a notebook can hardly go on
MESSAGE = "Out of memory: on this hub, a notebook can use {gib:.1f} GiB, and this cell needed more.\n\n"
FREED = """\
The cell was stopped. Your files are safe, and your variables are still there. What you can do:
  - Use less at once: smaller tensors, a smaller batch, a shorter list.
  - Free what earlier cells have stored: choose Kernel → Restart Kernel, then run the cells that you need."""
STILL_FULL = """\
The memory is still full, because your variables hold what was stored in them. Restart the kernel now:
choose Kernel → Restart Kernel. Until then, the next cell or slider can end the kernel. Your files are safe.
Afterwards, use less at once: smaller tensors, a smaller batch, a shorter list."""


def limit_memory() -> None:
    """Limit this process, and all that it will start, according to MEM_LIMIT; without one, do nothing."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return
    if not re.fullmatch("[0-9]+", text) or int(text) < 2 * FOR_THE_SERVER:
        raise CommandError(
            f"{VARIABLE} is {text!r}, but a number of bytes is expected, at least {2 * FOR_THE_SERVER}.",
            "For 2 GiB, set it to 2147483648.",
        )
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = int(text) - FOR_THE_SERVER
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    # On ARM, torch's allocator would take memory in blocks of 1 GiB and keep it.
    os.environ["MIMALLOC_DISALLOW_ARENA_ALLOC"] = "1"


def load_ipython_extension(shell: Any) -> None:
    limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if limit == resource.RLIM_INFINITY:
        return

    def keep_reserve(*_: Any) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit - RESERVE, limit))

    def explain(shell: Any, kind: type, error: BaseException, trace: TracebackType, **_: Any) -> None:
        if is_out_of_memory(error):
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
            traceback.clear_frames(trace)
            usable = limit - RESERVE
            advice = STILL_FULL if data_size() > FULL * usable else FREED
            message = MESSAGE.format(gib=usable / 2**30) + advice
            error._render_traceback_ = lambda: [message]  # IPython shows this instead of the traceback
        shell.showtraceback((kind, error, trace), running_compiled_code=True)

    keep_reserve()
    shell.events.register("post_run_cell", keep_reserve)
    shell.set_custom_exc((MemoryError, RuntimeError), explain)


def data_size() -> int:
    """What the limit counts, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or OF_TORCH.search(str(error)) is not None
