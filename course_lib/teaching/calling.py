"""Call a learner's function and come back whatever it does.

    >>> call(lambda: torch.ones(3) * 2, until=time.monotonic() + 5).answer
    tensor([2., 2., 2.])

A plain call. A timer ends a loop without end, where the system has one and we are in the main thread;
elsewhere Jupyter's stop button does. What is printed is kept. What is changed outside (seeds, torch's
type of numbers) is put back. Of an exception a few words are kept: the learner's line, the message, a hint.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import re
import signal
import sysconfig
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

MOST_PRINTED = 1000  # characters of one call
LONGEST_MESSAGE = 400
AGAIN = 0.1  # seconds until the timer rings again: `except:` in a loop can swallow the first time
OURS = (__file__, contextlib.__file__)
NOT_THE_LEARNERS = (
    str(Path(__file__).resolve().parent.parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
    "<__array_function__",
)

HINTS = {
    r"shapes cannot be multiplied|inconsistent tensor size|size mismatch, got|inconsistent dimensions": (
        "The shapes do not fit for `@`: is a transpose (`.T`) missing, or are the factors swapped?"
    ),
    r"The size of tensor a .* must match the size of tensor b|not broadcastable": (
        "Two tensors of different shape met: print their `.shape` just before this line. (`.T` turns all "
        "axes round; `.mT` swaps the last two.)"
    ),
    r"maximum recursion depth": "The function calls itself without end.",
    r"name '.*' is not defined|cannot access \w+ variable": (
        "Is the name spelled right, and has the cell that makes it been run?"
    ),
    r"Dimension out of range": "There is no such axis. Count from the back: the last is `dim=-1`.",
    r"to have the same dtype|expected scalar type|must have the same dtype": (
        "Two different number types met: keep everything in the inputs' type, torch.float32."
    ),
    r"Boolean value of Tensor with more than one value|a Tensor with \d+ elements cannot be converted": (
        "A whole tensor stands where one number is wanted: pick one entry, or use `torch.where`."
    ),
    r"unsupported operand type\(s\) for .*(NoneType|ellipsis)": (
        "Something here is still empty: fill in every `...`, and see that your own functions `return`."
    ),
    r"\w+\(\): argument 'input' .* must be Tensor, not (int|float)": (
        "torch's functions want tensors: for a plain number use `math.sqrt(d)`, or `d ** 0.5`."
    ),
}


class TimeUp(BaseException):
    """Raised inside what takes too long; not an Exception, so `except Exception` lets it pass."""


@dataclass(frozen=True)
class Fault:
    """What stopped a call: the exception's class by name, the learner's line, and the story in words."""

    kind: str
    place: str
    words: str
    is_stub: bool = False


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
    rings, on = 0, True

    def ring(number: int, frame: FrameType) -> None:
        nonlocal rings
        if not on or not _may_be_stopped(frame):
            return
        rings, result.took_too_long = rings + 1, True
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


# ---- what stopped it, in words


def fault_of(error: BaseException) -> Fault:
    """Everything worth telling about an exception; the exception itself is not kept."""
    kind, place, message = type(error).__name__, _place(error), message_of(error)
    story = f"{kind}: {message}" if message else kind
    hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, message)), "")
    words = "\n\n".join(filter(None, [place, story, hint]))
    return Fault(kind, place, words, is_stub=kind == "NotImplementedError" and message == "Your turn")


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
