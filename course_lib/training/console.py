"""What the person in front of a run sees and can do: a progress bar, and Ctrl-C, obeyed between two steps.

    with Stopping() as stopping, steps_bar(total=1000, start=250) as bar:
        while not stopping.asked:
            ...                                             # one step, never cut in two
            bar.update(1)

A step that is cut in two leaves weights that no uninterrupted run ever had. So the first signal (Ctrl-C, the
kernel's stop button, a polite kill) only sets a flag, and `says` so; a second one means it, and interrupts at
once. Of several processes each may get the same wish twice, from a scheduler and from `torchrun`: there, what
follows within a second is no second one (`echo`).

The bar is off where nobody watches (a pipe, a log file, a notebook that is built or tested), so that stored
outputs stay the same from run to run. COURSE_BAR=1 or 0 decides it by hand.
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
SAID = "Stopping after this step. (Once more, and it stops at once, without saving.)"


class Stopping:
    """Catches the signals that ask for an end, as long as it is entered."""

    def __init__(self, *, echo: float = 0.0, says: bool = False) -> None:
        self.asked, self._says = False, says
        self._before: dict[int, object] = {}
        self._echo, self._since = echo, 0.0

    def __enter__(self) -> Self:
        # Python hands signals to the main thread alone; elsewhere they keep their usual meaning.
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # Ignored (nohup, a job in the background) stays ignored: whoever set that meant it.
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked, self._since = True, time.monotonic()
            if self._says:
                print(f"\n{SAID}", file=sys.stderr, flush=True)
        elif time.monotonic() - self._since >= self._echo:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not Python's own
        self._before = {}


def steps_bar(*, total: int, start: int = 0, shown: bool = True) -> terminal_bar:
    """A bar over `total` steps, of which `start` are done."""
    bar = terminal_bar
    if _in_notebook():
        from tqdm.notebook import tqdm as bar
    return bar(total=total, initial=start, unit="step", disable=not (shown and watched()), leave=False)


def watched() -> bool:
    """Whether somebody is likely to look."""
    if "COURSE_BAR" in os.environ:
        return switched_on("COURSE_BAR")
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    # Asked of what is loaded already: a bare GPU machine has no IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and "ipywidgets" in sys.modules
