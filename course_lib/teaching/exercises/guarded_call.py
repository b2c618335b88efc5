"""Call a learner's function, survive whatever it does, and find out why if it gives no answer.

    >>> call(lambda: torch.ones(3) * 2, TimeLimit(5)).answer
    tensor([2., 2., 2.])

The function runs in a thread of its own, so it can be stopped on every platform without signals: an exception
is raised inside the thread. That ends an endless loop of Python code. A call that is busy in C code for too
long (`time.sleep(60)`, a huge matrix product) is given up instead: it ends by itself, in the background.
While C code keeps the interpreter's lock (`sum(range(10**12))`), no other thread runs at all; then a message
in the terminal is all that is possible (`_report_if_frozen`).

Memory is limited as well: by the system on Linux, elsewhere by looking at it while the function runs. So is
the depth of recursion. Printed output is captured. Random numbers start from the same seed in every call, and
global state that the function changes (seeds, torch's default dtype, the recursion limit) is restored.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import ctypes
import faulthandler
import io
import linecache
import random
import sys
import sysconfig
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import psutil
import torch

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises.time_limit import TimeLimit

try:
    import resource
except ImportError:  # Windows
    resource = None

MOST_PRINTED = 1000  # characters of one call
MOST_MEMORY = 4 * 2**30  # bytes that a call may add
STACK_SIZE = 64 * 2**20  # Python 3.13 allows 10,000 calls through C code, which overflow the usual 8 MiB
MOST_FRAMES = 3000  # calls within calls; through C code (`sorted(key=...)`), 10,000 overflow the stack
LONGEST_MESSAGE = 400
POLL_INTERVAL = 0.02  # seconds between two looks at a call that is still running
STOP_INTERVAL = 0.001  # seconds until it is stopped again: a bare `except:` in a loop catches the first time
SHORTEST_LIMIT = 0.05  # seconds, even if the time limit is over
GRACE = 0.5  # seconds until a call that can't be stopped is given up
FROZEN = 30.0  # seconds in which this thread can't run until the terminal is told
LONGEST_IMPORT = 30.0  # seconds: an import is never stopped, because it would remain half done
OWN_FILES = (__file__, contextlib.__file__, threading.__file__)
CODE_OF_OTHERS = (
    str(PROJECT_ROOT / "course_lib"),
    str(PROJECT_ROOT / "lessons"),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(str(Path(package.__file__).parents[1]) for package in (np, psutil, torch)),  # by `pip install --user`
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
    be True without a failure, if the function caught the exception that stopped it. `runs_on` is True if
    it can't be stopped."""

    answer: Any = None
    returned: bool = False
    failure: Failure | None = None
    printed: str = ""
    timed_out: bool = False
    runs_on: bool = False


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


def call(
    function: Callable[[], Any], limit: TimeLimit, read: Callable = lambda value: value, *, seed: int = 0
) -> CallResult:
    """Call `function` and `read` what it returns, both within the time limit.

    `seed` is where the random numbers of torch, NumPy and Python start.
    """
    result, output, exceptions, terminal = CallResult(), LimitedOutput(), [], sys.stderr

    def work() -> None:
        try:
            with observer.get()():
                value = _keep_names(function)
            result.returned = True
            result.answer = read(value)
        except BaseException as caught:  # SystemExit and the learner's own classes too
            exceptions.append(caught)

    def explain() -> None:  # its __str__ may be the learner's, and never end
        with contextlib.suppress(OutOfTime):
            line, message = find_learners_line(exceptions[0]), shorten_message(exceptions[0])
            result.failure = Failure(type(exceptions[0]).__name__, line, message)

    with _restore_global_state(seed), _limit_recursion(), _capture_output(output):
        with _limit_memory():
            line = _run_within(limit, work, result, terminal)
        with _limit_memory():  # a new limit: the exception keeps what the function allocated
            if exceptions and not result.timed_out:
                _run_within(TimeLimit(1.0), explain, result, terminal)
    if result.timed_out:
        result.failure = Failure("OutOfTime", line, "")
    result.printed = str(output)
    return result


_given_up: list[threading.Thread] = []  # calls that couldn't be stopped
_inside_call: ContextVar[bool] = ContextVar("inside_call", default=False)
observer: ContextVar[Callable] = ContextVar("observer", default=contextlib.nullcontext)  # around the function


def is_inside_call() -> bool:
    return _inside_call.get()


def earlier_call_runs_on() -> bool:
    return any(thread.is_alive() for thread in _given_up)


def _run_within(limit: TimeLimit, work: Callable[[], None], result: CallResult, terminal: Any) -> str:
    """Run `work` in a thread; after the time limit, stop it and return the learner's line it had reached."""
    finished = threading.Event()  # Thread.join is not safe to interrupt: the thread then counts as ended

    def restart_the_kernel_to_end_this_call() -> None:  # the terminal shows this name: see _report_if_frozen
        _inside_call.set(True)
        try:
            work()
        finally:
            finished.set()

    target = copy_context().run
    thread = threading.Thread(target=target, args=(restart_the_kernel_to_end_this_call,), daemon=True)
    most_memory, line = _used_memory() + MOST_MEMORY, ""
    if limit.seconds_left() < SHORTEST_LIMIT:
        limit = TimeLimit(SHORTEST_LIMIT)
    try:
        _report_if_frozen(terminal)
        _start_with_large_stack(thread)
        while (left := limit.seconds_left()) > 0 and not finished.wait(min(POLL_INTERVAL, left)):
            _report_if_frozen(terminal)
            if _used_memory() > most_memory:
                _raise_inside(thread, MemoryError)
    finally:  # also if the stop button was pressed
        faulthandler.cancel_dump_traceback_later()
        if not finished.is_set():
            result.timed_out = True
            line = _describe_position(sys._current_frames().get(thread.ident))
            result.runs_on = not _stop(thread, finished)
    return line


def _start_with_large_stack(thread: threading.Thread) -> None:
    before = threading.stack_size(STACK_SIZE)
    try:
        thread.start()
    finally:
        threading.stack_size(before)


def _stop(thread: threading.Thread, finished: threading.Event) -> bool:
    """Raise an exception inside the thread until it ends; False if it hasn't when the grace is over."""
    grace = TimeLimit(GRACE)
    while not finished.is_set():
        importing = not _raise_inside(thread, OutOfTime)
        time.sleep(STOP_INTERVAL)
        if grace.seconds_spent() > (LONGEST_IMPORT if importing else GRACE):
            _given_up.append(thread)
            return False
    return True


def _raise_inside(thread: threading.Thread, exception: type[BaseException]) -> bool:
    """Raise an exception in the code that the thread is running, except in our own, which reports the result.
    False if it is in an import, which would remain half done."""
    frame = sys._current_frames().get(thread.ident)
    if frame is None or frame.f_code.co_filename in OWN_FILES:
        return True
    for caller, _ in islice(traceback.walk_stack(frame), MOST_FRAMES):
        if caller.f_code.co_filename == __file__:
            break
        if caller.f_code.co_filename.startswith("<frozen importlib"):
            return False
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(exception))
    return True


def _report_if_frozen(terminal: Any) -> None:
    """If this isn't called again for a long time, write what every thread is doing to the terminal.

    In a notebook, nothing can be displayed then: that needs the lock which C code is keeping. It is called
    again and again while a call runs, so a machine that is only busy is not reported.
    """
    with contextlib.suppress(AttributeError, RuntimeError, OSError):  # there may be no such stream
        faulthandler.dump_traceback_later(FROZEN, file=terminal)


def _limits_address_space() -> bool:
    """Whether the system enforces the limit. CUDA reserves far more addresses than it uses."""
    return resource is not None and sys.platform == "linux" and not torch.cuda.is_available()


@contextlib.contextmanager
def _limit_memory() -> Iterator[None]:
    """On Linux, an allocation that needs too much raises a MemoryError."""
    if not _limits_address_space():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    room = psutil.Process().memory_info().vms + MOST_MEMORY
    limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([room, *limits]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def allowed_gib() -> float:
    """What a call may add; a hub may allow less to the whole process."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0] if resource else -1
    return (min(MOST_MEMORY, limit) if limit > 0 else MOST_MEMORY) / 2**30  # -1: no limit


def _used_memory() -> int:
    """The memory of this process in bytes, or 0 if the system enforces the limit anyway."""
    return 0 if _limits_address_space() else psutil.Process().memory_info().rss


@contextlib.contextmanager
def _capture_output(output: LimitedOutput) -> Iterator[None]:
    """Send stdout, stderr and warnings to `output`; no warning becomes an error."""
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            output.write(f"{warning.category.__name__}: {shorten_message(warning.message)}\n")


def _keep_names(function: Callable[[], Any]) -> Any:
    """Call a function, then restore at once what all other code needs: Python's own functions, modules."""
    names, modules = builtins.__dict__.copy(), sys.modules.copy()
    try:
        return function()
    finally:
        builtins.__dict__.update(names)
        sys.modules.update(modules)


_set_recursion_limit = sys.setrecursionlimit


@contextlib.contextmanager
def _limit_recursion() -> Iterator[None]:
    """Keep the recursion limit below MOST_FRAMES: an overflow of the stack ends the whole process."""
    before = sys.getrecursionlimit()
    _set_recursion_limit(min(before, MOST_FRAMES))
    sys.setrecursionlimit = lambda limit: _set_recursion_limit(min(limit, MOST_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit = _set_recursion_limit
        _set_recursion_limit(before)


@contextlib.contextmanager
def _restore_global_state(seed: int) -> Iterator[None]:
    """Restore what a function may change for the whole process; meanwhile random numbers are seeded.

    Exceptions in finalizers are dropped, because a call may be stopped in the finalizer of any object.
    """
    dtype, unraisable_hook = torch.get_default_dtype(), sys.unraisablehook
    sys.unraisablehook = lambda _: None
    python_state, numpy_state, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed), np.random.seed(seed), torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        sys.unraisablehook = unraisable_hook
        torch.set_default_dtype(dtype)
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)


# ---- where the learner's code was


def find_learners_line(exception: BaseException) -> str:
    """The innermost line that the learner wrote, not torch's or the course's: `line 3: return x @ y`."""
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(exception.__traceback__)]
    own = [step for step in steps if _is_learners(step[0].co_filename)]
    return _quote(*own[-1]) if own else ""


def _describe_position(frame: FrameType | None) -> str:
    """The loop of the learner's function that a running thread is in, or else the line it has reached.

    Of nested loops it is the outermost, wherever the thread happens to be: the text is always the same.
    """
    if frame is None:
        return ""
    steps = [(caller.f_code, line) for caller, line in islice(traceback.walk_stack(frame), MOST_FRAMES)]
    own = [(code, line) for code, line in steps if line and _is_learners(code.co_filename)]
    if not own:
        return ""
    code, line = own[-1]
    try:
        nodes = ast.walk(ast.parse("".join(linecache.getlines(code.co_filename))))
    except SyntaxError:  # a cell with a magic command
        nodes = ()
    loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
    starts = [loop.lineno for loop in loops if code.co_firstlineno <= loop.lineno <= line <= loop.end_lineno]
    return _quote(code, min(starts, default=line))


def _quote(code: CodeType, line: int) -> str:
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
