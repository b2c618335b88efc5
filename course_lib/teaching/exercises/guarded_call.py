"""Call a learner's function, survive whatever it does, and explain why if it gives no answer.

    >>> call(lambda: torch.ones(3) * 2, deadline=time.monotonic() + 5).answer
    tensor([2., 2., 2.])

It is a plain call in this process. A timer ends an endless loop if the system has one and we are in the main
thread; otherwise Jupyter's stop button does. Printed output is captured. Global state that the function
changes (seeds, torch's default dtype) is restored.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import re
import signal
import sys
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
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, with_article, wrong_verdict

MOST_PRINTED = 1000  # characters of one call
LONGEST_MESSAGE = 400
TIMER_INTERVAL = 0.001  # seconds until the timer fires again: a bare `except:` in a loop catches the first
SHORTEST_LIMIT = 0.05  # seconds, even if the deadline has passed
OWN_FILES = (__file__, contextlib.__file__)
CODE_OF_OTHERS = (
    str(PROJECT_ROOT / "course_lib"),
    str(PROJECT_ROOT / "lessons"),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
    "<__array_function__",
)


class CheckInside(RuntimeError):
    """`check` was called by the function that it was checking."""


class OutOfTime(BaseException):
    """Raised inside a call that takes too long; not an Exception, so `except Exception` doesn't catch it."""


@dataclass(frozen=True)
class Failure:
    """The exception that ended a call: the name of its class, the line of the learner's code, its message."""

    exception: str
    line: str
    message: str


@dataclass
class CallResult:
    """`returned` is False if the function failed, True if reading what it returned failed. `timed_out` can
    be True without a failure, if the function caught the exception that stopped it."""

    answer: Any = None
    returned: bool = False
    failure: Failure | None = None
    printed: str = ""
    timed_out: bool = False


class LimitedOutput(io.TextIOBase):
    """A stream that keeps the first characters and counts the others: a loop may print forever."""

    def __init__(self) -> None:
        self.start, self.n_dropped = "", 0

    def write(self, text: str) -> int:
        room = MOST_PRINTED - len(self.start)
        self.start += text[:room]
        self.n_dropped += max(0, len(text) - room)
        return len(text)

    def __str__(self) -> str:
        return self.start.rstrip() + (f"\n… and {self.n_dropped:,} more characters" if self.n_dropped else "")


def call(function: Callable[[], Any], deadline: float, read: Callable = lambda value: value) -> CallResult:
    """Call `function` and `read` what it returns, both before the `deadline` (of `time.monotonic`)."""
    result, output, exception = CallResult(), LimitedOutput(), None
    with _restore_global_state(), _capture_output(output):
        try:
            with _limit_time(deadline - time.monotonic(), result):
                value = function()
                result.returned = True
                result.answer = read(value)
        except KeyboardInterrupt:  # the stop button
            raise
        except BaseException as caught:  # SystemExit and the learner's own classes too
            exception = caught
        if exception is not None:  # its __str__ may be the learner's, and never end
            with contextlib.suppress(OutOfTime), _limit_time(1.0, result):
                line, message = _find_learners_line(exception), shorten_message(exception)
                result.failure = Failure(type(exception).__name__, line, message)
    result.printed = str(output)
    return result


_inside_call: ContextVar[bool] = ContextVar("inside_call", default=False)


def is_inside_call() -> bool:
    return _inside_call.get()


@contextlib.contextmanager
def _limit_time(seconds: float, result: CallResult) -> Iterator[None]:
    active = True

    def stop(number: int, frame: FrameType) -> None:
        if active and _may_be_stopped(frame):
            result.timed_out = True
            raise OutOfTime

    has_timer = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    handler_before = signal.signal(signal.SIGALRM, stop) if has_timer else None
    limit = max(seconds, SHORTEST_LIMIT), TIMER_INTERVAL
    timer_before = signal.setitimer(signal.ITIMER_REAL, *limit) if has_timer else None
    token = _inside_call.set(True)
    try:
        yield
    finally:
        active = False
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, *timer_before)
            signal.signal(signal.SIGALRM, handler_before)
        _inside_call.reset(token)


def _may_be_stopped(frame: FrameType | None) -> bool:
    """Not in our own code, which restores state, and not in an import, which would remain half done."""
    if frame.f_code.co_filename in OWN_FILES:
        return False
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return True


@contextlib.contextmanager
def _capture_output(output: LimitedOutput) -> Iterator[None]:
    """Send stdout, stderr and warnings to `output`; no warning becomes an error."""
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            output.write(f"{warning.category.__name__}: {shorten_message(warning.message)}\n")


@contextlib.contextmanager
def _restore_global_state() -> Iterator[None]:
    """Restore what a function may change for the whole process; meanwhile gradients are enabled.

    Exceptions in finalizers are dropped, because the timer may interrupt the finalizer of any object.
    """
    dtype, unraisable_hook = torch.get_default_dtype(), sys.unraisablehook
    sys.unraisablehook = lambda _: None
    python_state, numpy_state, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        sys.unraisablehook = unraisable_hook
        torch.set_default_dtype(dtype)
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)


# ---- explaining why a call gave no answer

EXIT = "Your function calls `exit`, which ends the whole session."
LEAVE = "Use `return` to leave a function early."
INSIDE = "Your function calls `check`. Move that call out of the function, into a cell of its own."

HINTS = {  # what to do about an exception, by a pattern of its message
    r"shapes cannot be multiplied|inconsistent tensor size|size mismatch, got|inconsistent dimensions": (
        "These shapes don't fit `@`. Is a transpose (`.T`) missing, or are the factors in the wrong order?"
    ),
    r"The size of tensor a .* must match the size of tensor b|not broadcastable": (
        "The shapes of these two tensors can't be broadcast. Print their `.shape` just before this line. "
        "`.T` reverses all axes; `.mT` swaps only the last two."
    ),
    r"maximum recursion depth": "The function calls itself again and again without stopping.",
    r"name '.*' is not defined|cannot access \w+ variable": (
        "Is the name spelled correctly, and have you run the cell that defines it?"
    ),
    r"Dimension out of range": "The tensor has no such axis. The last one is always `dim=-1`.",
    r"to have the same dtype|expected scalar type|must have the same dtype": (
        "Two different dtypes are mixed here. Keep everything in the dtype of the inputs, torch.float32."
    ),
    r"Boolean value of Tensor with more than one value|a Tensor with \d+ elements cannot be converted": (
        "A whole tensor is used where a single number is needed. Select one element, or use `torch.where`."
    ),
    r"unsupported operand type\(s\) for .*(NoneType|ellipsis)": (
        "A value is missing here. Fill in every `...`, and make sure your own functions `return` something."
    ),
    r"\w+\(\): argument 'input' .* must be Tensor, not (int|float)": (
        "torch functions expect tensors. For a plain number, use `math.sqrt(d)` or `d ** 0.5`."
    ),
}


def _find_learners_line(exception: BaseException) -> str:
    """The innermost line that the learner wrote, not torch's or the course's: `line 3: return x @ y`."""
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(exception.__traceback__)]
    own_steps = [(code, line) for code, line in steps if _is_learners(code.co_filename)]
    if not own_steps:
        return ""
    code, line = own_steps[-1]
    source = linecache.getline(code.co_filename, line).strip()
    return f"line {line}: `{source}`" if source else f"line {line} of `{code.co_name}`"


def _is_learners(filename: str) -> bool:
    return not filename.startswith(CODE_OF_OTHERS)


def shorten_message(exception: BaseException) -> str:
    try:
        message = str(exception).strip()
    except Exception:  # a learner's own exception class may fail even at this
        return "(the message can't be displayed)"
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + " …"


def explain_failure(result: CallResult, seconds: float, call_text: str) -> Verdict | None:
    """Why a call gave no answer; None if it gave one. `call_text` says what it was called with."""
    failure = result.failure
    if result.timed_out:
        position = f"It had reached {failure.line}." if failure and failure.line else ""
        details = join_paragraphs(position, "Is there an infinite loop?")
        headline = f"Your function was stopped because it took longer than {seconds:g} seconds."
        return wrong_verdict(headline, details, "too-slow")
    if failure is None:
        return None
    if result.returned:
        details = describe_failure(failure)
        return wrong_verdict("The return value can't be read as numbers.", details, "unreadable")
    if (failure.exception, failure.message) == ("NotImplementedError", "Your turn"):
        stub = f"Replace {failure.line}" if failure.line else ""
        return Verdict("", "not tried", "Write your answer, run that cell, then run this one again.", stub)
    if failure.exception == "SystemExit":
        return wrong_verdict(EXIT, join_paragraphs(describe_failure(failure), LEAVE), "exit")
    if failure.exception == "CheckInside":
        return wrong_verdict(INSIDE, "", "check-inside")
    details = join_paragraphs(describe_failure(failure), call_text)
    return wrong_verdict(f"Your function raised {with_article(f'`{failure.exception}`')}.", details, "raises")


def describe_failure(failure: Failure) -> str:
    """The learner's line, the exception, and a hint if there is one."""
    text = f"{failure.exception}: {failure.message}" if failure.message else failure.exception
    hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, failure.message)), "")
    return join_paragraphs(failure.line, text, hint)
