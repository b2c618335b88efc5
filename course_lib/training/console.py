"""A progress bar, and Ctrl-C handled between two training steps.

    with StopRequest() as stop, steps_bar(total=1000, start=250) as bar:
        while not stop.received:
            ...                                             # one step, never interrupted
            bar.update(1)

Interrupting a step would leave weights that no uninterrupted run has. So the first signal (Ctrl-C, the
kernel's stop button, SIGTERM) only sets a flag and, with `verbose`, prints a message; a second one interrupts
at once. In distributed training a process can receive the same request twice, from a scheduler and from
`torchrun`, so signals within `ignore_seconds` of the first are ignored.

The bar is off without a terminal or notebook (a pipe, a log file) and where COURSE_BAR=0, so that stored
outputs are the same from run to run. COURSE_BAR=1 turns it on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Self

from tqdm import tqdm as terminal_bar

from course_lib.runtime import switched_on

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_MESSAGE = (
    "Stopping after this step. Interrupt again (Ctrl-C, or ■ in a notebook) to stop at once, without saving."
)


class StopRequest:
    """A context manager that turns SIGINT and SIGTERM into the flag `received`."""

    def __init__(self, *, ignore_seconds: float = 0.0, verbose: bool = False) -> None:
        self.received, self._received_at = False, 0.0
        self._ignore_seconds, self._verbose = ignore_seconds, verbose
        self._original_handlers: dict[int, object] = {}

    def __enter__(self) -> Self:
        # Python delivers signals only to the main thread; in other threads this does nothing.
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # An ignored signal (nohup, a background job) stays ignored: that was set on purpose.
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._original_handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.received:
            self.received, self._received_at = True, time.monotonic()
            if self._verbose:
                print(f"\n{STOP_MESSAGE}", file=sys.stderr, flush=True)
        elif time.monotonic() - self._received_at >= self._ignore_seconds:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, handler in self._original_handlers.items():
            # None: the original handler wasn't installed from Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._original_handlers = {}


def steps_bar(*, total: int, start: int = 0, shown: bool = True) -> terminal_bar:
    """A progress bar over `total` steps, of which `start` are already done."""
    bar = terminal_bar
    if _in_notebook():
        from tqdm.notebook import tqdm as bar
    return bar(total=total, initial=start, unit="step", disable=not (shown and bar_enabled()), leave=False)


def bar_enabled() -> bool:
    """Whether to show progress: COURSE_BAR if it is set, otherwise in a notebook or terminal."""
    if "COURSE_BAR" in os.environ:
        return switched_on("COURSE_BAR")
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    # Checks loaded modules instead of importing: IPython may not be installed.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and "ipywidgets" in sys.modules
