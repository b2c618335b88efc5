"""Inputs that several parts use: damaged bytes, arbitrary JSON, texts that break programs; and a command run
in this process, which must end with an exit code and never with an exception."""

from __future__ import annotations

import io
import signal
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest.mock import patch

from hypothesis import strategies as st

from tools.cli import commands, main

any_text = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates too
arguments = any_text.map(  # as the system passes them: bytes without a zero, and no other folder
    lambda text: text.encode("utf-8", "surrogatepass").replace(b"\0", b"").decode("utf-8", "surrogateescape")
).filter(lambda text: not text.startswith(("/", "~")) and ".." not in text)
numbers = st.integers() | st.floats() | st.sampled_from([0, -1, 2**31, 2**63, 10**400, 1e308])
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=20),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=8), values, max_size=3),
    max_leaves=8,
)
edits = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "delete"]), st.floats(0, 1), st.binary(max_size=4)),
    min_size=1,
    max_size=4,
)


def damage(content: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    """Apply edits to a file's content; a position is a fraction of its length."""
    for kind, where, new in changes:
        at = int(where * len(content))
        tail = {"flip": content[at + len(new) :], "cut": b"", "insert": content[at:]}
        content = (
            content[:at] + (b"" if kind in ("cut", "delete") else new) + tail.get(kind, content[at + 1 :])
        )
    return content


def json_paths(value: object, path: tuple = ()) -> list[tuple]:
    """The path of every value in parsed JSON, to replace any one of them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for key, item in items for below in json_paths(item, (*path, key)))]


def replaced(value: object, path: tuple, new: object) -> object:
    """The same JSON with another value at the path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def run_command(*argv: str, stdin: bytes = b"", ctrl_c_after: float = 5.0) -> tuple[int, str]:
    """The exit code of a command and what it printed. One that takes long is stopped as by Ctrl-C."""
    stream = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(stdin)), isatty=lambda: False)
    printed = io.StringIO()
    with ExitStack() as stack:
        stack.enter_context(patch.object(commands, "ensure", lambda *_: None))
        stack.enter_context(patch("sys.stdin", stream))
        stack.enter_context(redirect_stdout(printed))
        stack.enter_context(redirect_stderr(printed))
        try:
            with ctrl_c(ctrl_c_after):
                code = main(list(argv))
        except SystemExit as error:  # argparse
            code = error.code
    assert code in (0, 1, 2, 130), f"exit code {code}"
    assert code == 0 or printed.getvalue().strip(), "it failed without a message"
    assert "Traceback" not in printed.getvalue()
    return code, printed.getvalue()


@contextmanager
def ctrl_c(seconds: float):
    """Ctrl-C after so many seconds, by the alarm of `time_limit`, which gets the time that is left."""
    outer, start = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again every second: one may be lost in a callback
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, outer)
        signal.setitimer(signal.ITIMER_REAL, start)
