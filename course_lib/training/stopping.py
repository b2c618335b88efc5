"""Ctrl-C, the kernel's stop button and a polite kill: noted at once, obeyed between two steps.

    with Stopping() as stopping:
        while not stopping.asked:
            ...                                             # one step, never cut in two

A step that is cut in two leaves weights that no uninterrupted run ever had. So the first signal only sets
a flag, and `says` so; a second one means it, and interrupts at once. Of several processes each may get the
same wish twice, from a scheduler and from `torchrun`: there, what follows within a second is no second one
(`echo`).
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Self

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
