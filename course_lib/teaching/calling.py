"""Call a learner's function and come back whatever it does.

    >>> call(lambda: torch.ones(3) * 2, until=time.monotonic() + 5).answer
    tensor([2., 2., 2.])

A plain call. A timer ends a loop without end, where the system has one and we are
in the main thread; elsewhere Jupyter's stop button does. What is printed is kept. What is changed outside
(seeds, torch's defaults) is put back.
"""

from __future__ import annotations

import contextlib
import io
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch

from course_lib.teaching.fault import Fault, fault_of, message_of

MOST_PRINTED = 1000  # characters of one call
AGAIN = 0.1  # seconds until the timer rings again: `except:` in a loop can swallow the first time
OURS = (__file__, contextlib.__file__)


class TimeUp(BaseException):
    """Raised inside what takes too long; not an Exception, so `except Exception` lets it pass."""


@dataclass
class Outcome:
    """What came of a call. `returned` says how far it got: a fault may come of reading what it returned."""

    answer: Any = None
    returned: bool = False
    fault: Fault | None = None
    printed: str = ""
    took_too_long: bool = False


class Ear(io.TextIOBase):
    """Listens to `print`, and keeps only so much: a loop may print without end."""

    def __init__(self) -> None:
        self.heard, self.unheard = "", 0

    def write(self, text: str) -> int:
        room = MOST_PRINTED - len(self.heard)
        self.heard += text[:room]
        self.unheard += max(0, len(text) - room)
        return len(text)

    def __str__(self) -> str:
        return self.heard.rstrip() + (f"\n… and {self.unheard} characters more" if self.unheard else "")


def call(
    function: Callable[[], Any], until: float, read: Callable[[Any], Any] = lambda value: value
) -> Outcome:
    """Call `function` and `read` what it returns, `until` then (`time.monotonic`)."""
    outcome, ear, error = Outcome(), Ear(), None
    with _surroundings_kept(), _heard_by(ear):
        try:
            with _time_limit(until - time.monotonic(), outcome):
                value = function()
                outcome.returned = True
                outcome.answer = read(value)
        except KeyboardInterrupt:  # the stop button
            raise
        except BaseException as caught:  # SystemExit and the learner's own classes too
            error = caught
        if error is not None:
            with contextlib.suppress(TimeUp), _time_limit(1.0, outcome):  # its __str__ may be the learner's
                outcome.fault = fault_of(error)
    outcome.printed = str(ear)
    return outcome


_inside: ContextVar[bool] = ContextVar("inside", default=False)


def inside_a_call() -> bool:
    """Whether this is asked from within a function that is being called here."""
    return _inside.get()


@contextlib.contextmanager
def _time_limit(seconds: float, outcome: Outcome) -> Iterator[None]:
    rings, on = 0, True

    def ring(number: int, frame: FrameType) -> None:
        nonlocal rings
        if not on or not _may_be_stopped(frame):
            return
        rings, outcome.took_too_long = rings + 1, True
        if rings > 3:  # swallowed by `except:` in a loop. Ring soon after: at some moment it stands outside
            signal.setitimer(signal.ITIMER_REAL, (1 + time.perf_counter_ns() % 50) / 1e6, AGAIN)
        raise TimeUp

    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGALRM, ring) if timed else None
    before = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.05), AGAIN) if timed else None
    token = _inside.set(True)
    try:
        yield
    finally:
        on = False
        if timed:
            signal.setitimer(signal.ITIMER_REAL, *before)
            signal.signal(signal.SIGALRM, handler)
        _inside.reset(token)


def _may_be_stopped(frame: FrameType | None) -> bool:
    """Not our own code, which puts things back; and no import, which would stay half done for the session."""
    if frame.f_code.co_filename in OURS:
        return False
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return True


@contextlib.contextmanager
def _heard_by(ear: Ear) -> Iterator[None]:
    """What is printed goes to the ear, and so do warnings: they are never errors here, and never red."""
    with contextlib.redirect_stdout(ear), contextlib.redirect_stderr(ear):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            ear.write(f"{warning.category.__name__}: {message_of(warning.message)}\n")


@contextlib.contextmanager
def _surroundings_kept() -> Iterator[None]:
    """Put back what a function may change for the whole process; and let gradients flow meanwhile."""
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    strictness = torch.get_deterministic_debug_mode()
    seeds = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:  # slow to set, as the next
            torch.set_default_device(None if device.type == "cpu" else device)  # "cpu" would slow each call
        if torch.get_deterministic_debug_mode() != strictness:
            torch.set_deterministic_debug_mode(strictness)
        torch.set_num_threads(threads)
        random.setstate(seeds[0])
        np.random.set_state(seeds[1])
        torch.set_rng_state(seeds[2])
