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
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

LONGEST_WAIT = 3.0  # seconds for the lock; a write takes a few milliseconds
_held: set[Path] = set()  # locks that were waited for in vain: the learner waits once, not at every check


@dataclass(frozen=True)
class Log:
    """The events that could be read, and how many lines could not."""

    events: tuple[dict, ...] = ()
    n_spoilt: int = 0


def append(path: Path, event: dict) -> None:
    """Add one event, on a line of its own even after half a line."""
    line = json.dumps(event, ensure_ascii=False, default=str).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path), path.open("ab") as file:
        file.write(line if _ends_well(path) else b"\n" + line)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Log:
    """All events, in the order in which they were written."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    found = [_event(line) for line in lines if line.strip()]
    events = tuple(event for event in found if event is not None)
    return Log(events, len(found) - len(events))


def delete(path: Path) -> bool:
    """Remove the file; whether there was one."""
    if not path.exists():
        return False
    with locked(path):
        path.unlink()
    return True


def reason(error: Exception) -> str:
    """Why it could not be done, in a few words: `No space left on device`."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with a file. A held lock is waited for once a session; then Timeout comes at once."""
    lock = path.with_suffix(".lock")
    try:
        held = FileLock(lock, timeout=0 if lock in _held else LONGEST_WAIT, poll_interval=0.01)
        with held:
            _held.discard(lock)
            yield
    except Timeout:
        _held.add(lock)
        raise


def _ends_well(path: Path) -> bool:
    """Whether the file is empty or ends with a whole line."""
    if not path.stat().st_size:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _event(line: bytes) -> dict | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return None
    return event if isinstance(event, dict) else None
