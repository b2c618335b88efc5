"""Call a learner's function and come back whatever it does.

    >>> call(lambda: torch.ones(3) * 2, until=time.monotonic() + 5).answer
    tensor([2., 2., 2.])

It is a plain call. A timer ends a loop without end, where the system has one and we are in the main thread;
elsewhere Jupyter's stop button does. What is printed is kept. What is changed outside (seeds, torch's
type of numbers) is put back. Of an exception are kept its class by name, the learner's line and the message.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import signal
import sysconfig
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch

from course_lib.runtime import PROJECT_ROOT

MOST_PRINTED = 1000  # characters of one call
LONGEST_MESSAGE = 400
AGAIN = 0.001  # seconds until the timer rings again: `except:` in a loop swallows it while inside its `try`
OURS = (__file__, contextlib.__file__)
NOT_THE_LEARNERS = (
    str(PROJECT_ROOT / "course_lib"),
    str(PROJECT_ROOT / "lessons"),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
    "<__array_function__",
)


class CheckInside(RuntimeError):
    """`check` was called by the function that it was checking."""


class TimeUp(BaseException):
    """Raised inside what takes too long; not an Exception, so `except Exception` lets it pass."""


@dataclass(frozen=True)
class Fault:
    """What stopped a call: the exception's class by name, the learner's line, and what the exception says."""

    kind: str
    place: str
    message: str


@dataclass
class CallResult:
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
) -> CallResult:
    """Call `function` and `read` what it returns, `until` then (`time.monotonic`)."""
    result, ear, error = CallResult(), Ear(), None
    with _surroundings_kept(), _heard_by(ear):
        try:
            with _time_limit(until - time.monotonic(), result):
                value = function()
                result.returned = True
                result.answer = read(value)
        except KeyboardInterrupt:  # the stop button
            raise
        except BaseException as caught:  # SystemExit and the learner's own classes too
            error = caught
        if error is not None:
            with contextlib.suppress(TimeUp), _time_limit(1.0, result):  # its __str__ may be the learner's
                result.fault = fault_of(error)
    result.printed = str(ear)
    return result


_inside: ContextVar[bool] = ContextVar("inside", default=False)


def inside_a_call() -> bool:
    """Whether this is asked from within a function that is being called here."""
    return _inside.get()


@contextlib.contextmanager
def _time_limit(seconds: float, result: CallResult) -> Iterator[None]:
    on = True

    def ring(number: int, frame: FrameType) -> None:
        if on and _may_be_stopped(frame):
            result.took_too_long = True
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
    dtype = torch.get_default_dtype()
    seeds = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        random.setstate(seeds[0])
        np.random.set_state(seeds[1])
        torch.set_rng_state(seeds[2])


# ---- what stopped it


def fault_of(error: BaseException) -> Fault:
    """Everything worth knowing about an exception; the exception itself is not kept."""
    return Fault(type(error).__name__, _place(error), message_of(error))


def _place(error: BaseException) -> str:
    """The innermost line that the learner wrote, not torch's or the course's: `line 3: return x @ y`."""
    walk = traceback.walk_tb(error.__traceback__)
    lines = [(frame.f_code, line) for frame, line in walk]
    lines = [one for one in lines if not one[0].co_filename.startswith(NOT_THE_LEARNERS)]
    if not lines:
        return ""
    code, line = lines[-1]
    source = linecache.getline(code.co_filename, line).strip()
    return f"line {line}: `{source}`" if source else f"line {line} of `{code.co_name}`"


def message_of(error: BaseException) -> str:
    """What it says, cut to a readable length."""
    try:
        message = str(error).strip()
    except Exception:  # a learner's own exception class may fail even at this
        return "(its message cannot be shown)"
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + " …"
