"""Call a learner's function and come back whatever it does.

    >>> call(lambda numbers: numbers * 2, (torch.ones(3),), seconds=5).value
    tensor([2., 2., 2.])

The function runs on a thread of its own with copies of the inputs. If it takes too long, an exception is
raised inside it; that works on every system, and with the main thread free to hear Ctrl-C. What it prints
is kept. What it changes outside (seeds, torch's default type) is put back.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import io
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.teaching.fault import Fault, fault_of

MOST_PRINTED = 1000  # characters of one call
STACK = 64 * 2**20  # bytes: endless recursion must reach Python's limit before the thread's stack ends
PATIENCE = 1.0  # seconds in which a function must react to being stopped


class TimeUp(BaseException):
    """Raised inside a function that took too long; not an Exception, so `except Exception` lets it pass."""


@dataclass
class Outcome:
    """What came of a call. `still_running`: it could not be stopped and goes on in the background."""

    value: Any = None
    fault: Fault | None = None
    printed: str = ""
    changed: list[int] = field(default_factory=list)
    took_too_long: bool = False
    still_running: bool = False


class Ear(io.TextIOBase):
    """Listens to `print`, and keeps only so much: a loop may print without end."""

    def __init__(self) -> None:
        self.heard = ""
        self.unheard = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = MOST_PRINTED - len(self.heard)
        self.heard += text[:room]
        self.unheard += max(0, len(text) - room)
        return len(text)

    def __str__(self) -> str:
        return self.heard + (f"\n… and {self.unheard} characters more" if self.unheard else "")


class Worker:
    """A thread for one call. It waits on events of its own: after an interrupt, `Thread.join` of Python 3.11
    takes a running thread for a stopped one."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._at_work, self._done = threading.Event(), threading.Event()
        self._context = contextvars.copy_context()  # so that display() inside the function finds the cell
        self._thread = threading.Thread(target=self._run, daemon=True, name="attempt")
        usual = threading.stack_size()
        with contextlib.suppress(ValueError, RuntimeError):  # a system may refuse the size
            threading.stack_size(STACK)
        self._thread.start()
        threading.stack_size(usual)

    def ends_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self._done.is_set() and (left := end - time.monotonic()) > 0:
            self._done.wait(min(left, 0.05))  # short waits: on Windows a long one would not hear Ctrl-C
        return self._done.is_set()

    def stop(self) -> bool:
        """Raise TimeUp inside, again and again: `except:` in a loop can swallow the first ones."""
        end = time.monotonic() + PATIENCE
        while not self._done.is_set() and time.monotonic() < end:
            if self._at_work.is_set():  # not while the thread tidies up
                thread, error = ctypes.c_ulong(self._thread.ident), ctypes.py_object(TimeUp)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)
            self._done.wait(0.2)
        return self._done.is_set()

    def _run(self) -> None:
        try:
            self._at_work.set()
            self._context.run(self._work)
        except TimeUp:  # it may arrive when the work is just done
            pass
        finally:
            self._at_work.clear()
            self._done.set()


def call(function: Callable, inputs: tuple[Tensor, ...], seconds: float) -> Outcome:
    """Call `function` with copies of `inputs` for at most `seconds`."""
    outcome = Outcome()
    ear = Ear()
    given = tuple(tensor.clone() for tensor in inputs)

    def work() -> None:
        try:
            outcome.value = function(*given)
        except BaseException as error:  # SystemExit and the learner's own classes too
            outcome.fault = fault_of(error)

    with _surroundings_kept(), _exit_caught(), _heard_by(ear):
        worker = Worker(work)
        try:
            outcome.took_too_long = not worker.ends_within(seconds)
        finally:  # also when the learner presses Ctrl-C: stop the function, then let the interrupt through
            outcome.still_running = not worker.stop()
    outcome.printed = str(ear).rstrip()
    outcome.changed = [i for i, tensor in enumerate(inputs) if _differ(tensor, given[i].detach())]
    return outcome


def _differ(before: Tensor, after: Tensor) -> bool:
    return before.shape != after.shape or before.dtype != after.dtype or not torch.equal(before, after)


@contextlib.contextmanager
def _heard_by(ear: Ear) -> Iterator[None]:
    """What is printed goes to the ear, and so do warnings: they are never errors here, and never red."""
    with contextlib.redirect_stdout(ear), contextlib.redirect_stderr(ear):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            ear.write(f"{warning.category.__name__}: {warning.message}\n")


@contextlib.contextmanager
def _exit_caught() -> Iterator[None]:
    """In a notebook `exit()` raises nothing, it ends the kernel. Here it is made to raise, as elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        yield
        return
    shell.ask_exit = sys.exit
    try:
        yield
    finally:
        del shell.ask_exit


@contextlib.contextmanager
def _surroundings_kept() -> Iterator[None]:
    """Put back what a function may change for the whole process. (Grad mode belongs to its own thread.)"""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    strictness = torch.get_deterministic_debug_mode()
    seeds = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        if torch.get_deterministic_debug_mode() != strictness:  # slow to set
            torch.set_deterministic_debug_mode(strictness)
        random.setstate(seeds[0])
        np.random.set_state(seeds[1])
        torch.set_rng_state(seeds[2])
