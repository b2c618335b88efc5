"""A file of events, one JSON object a line, that several notebooks may write to at the same time.

    >>> append(path, {"kind": "lesson", "lesson": "start_here"})
    >>> read(path).events
    ({'kind': 'lesson', 'lesson': 'start_here'},)

Writing appends one line under a lock, so it costs the same with ten events as with ten thousand. A power cut
can leave half a line, a disk or an editor can spoil any of them: such a line is passed over, and stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

LONGEST_WAIT = 3.0  # seconds for the lock; a write takes a few milliseconds
_held: set[Path] = set()  # locks that somebody else did not let go of


class Log(NamedTuple):
    """The events that could be read, and how many lines could not."""

    events: tuple[dict, ...] = ()
    n_spoilt: int = 0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with a file. A held lock is waited for once a session; after that its Timeout comes at once."""
    lock = path.with_suffix(".lock")
    try:
        with FileLock(lock, timeout=0 if lock in _held else LONGEST_WAIT, poll_interval=0.01):
            _held.discard(lock)
            yield
    except Timeout:
        _held.add(lock)
        raise


def append(path: Path, event: dict) -> None:
    """Add one event. The line end comes first: half a line before it must not swallow it."""
    line = b"\n" + json.dumps(event, ensure_ascii=False, default=str).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path), path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Log:
    """All events, in the order in which they were written."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    found = [_event(line) for line in lines if line.strip()]
    events = tuple(event for event in found if isinstance(event, dict))
    return Log(events, len(found) - len(events))


def _event(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return None
