"""A file of events, one JSON object a line, that several notebooks may write to at the same time.

    >>> append(path, {"kind": "lesson", "lesson": "start_here"})
    >>> read(path)
    (({'kind': 'lesson', 'lesson': 'start_here'},), 0)

Writing appends one line under a lock, so it costs the same with ten events as with ten thousand. A power cut
can leave half a line, a disk or an editor can spoil any of them: such a line is passed over, and stays.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from filelock import FileLock

LONGEST_WAIT = 3.0  # seconds for the lock; a write takes a few milliseconds


def locked(path: Path) -> FileLock:
    """Alone with a file, in a `with`; a lock that somebody holds for too long raises filelock's Timeout."""
    return FileLock(path.with_suffix(".lock"), timeout=LONGEST_WAIT, poll_interval=0.01)


def append(path: Path, event: dict) -> None:
    """Add one event. The line end comes first: half a line before it must not swallow it."""
    line = b"\n" + json.dumps(event, ensure_ascii=False, default=str).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path), path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> tuple[tuple[dict, ...], int]:
    """All events, in the order in which they were written, and how many lines could not be read."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    found = [_event(line) for line in lines if line.strip()]
    events = tuple(event for event in found if isinstance(event, dict))
    return events, len(found) - len(events)


def _event(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return None
