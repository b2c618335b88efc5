"""A file of events, one JSON object a line, that several notebooks may write to at the same time.

    >>> append(path, {"kind": "lesson", "lesson": "start_here"})
    >>> read(path).events
    ({'kind': 'lesson', 'lesson': 'start_here'},)

Writing appends one line under a lock, so it costs the same with ten events as with ten thousand. A power
cut can leave half a line, a disk or an editor can spoil any of them: whoever meets such a line keeps a copy
of the file as it was, writes back the good lines, and says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from course_lib.runtime import write_atomically

LONGEST_WAIT = 3.0  # seconds for the lock; a write takes a few milliseconds
_held: set[Path] = set()  # locks that were waited for in vain: the learner waits once, not at every check


@dataclass(frozen=True)
class Log:
    """The good events, and what a reader should be told about the file."""

    events: tuple[dict, ...] = ()
    notes: tuple[str, ...] = ()


def append(path: Path, event: dict) -> tuple[str, ...]:
    """Add one event; the notes tell of a file that had to be repaired first."""
    line = json.dumps(event, ensure_ascii=False, default=str).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        notes = () if _ends_well(path) else _repair(path)
        with path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    return notes


def read(path: Path) -> Log:
    """All events, in the order in which they were written."""
    if not path.exists():
        return Log()
    events, bad = _sorted_out(path.read_bytes())
    if not bad:
        return Log(_parsed(events))
    try:
        with locked(path):  # another notebook may just have been writing that line: look again, alone
            notes = _repair(path)
            events, _ = _sorted_out(path.read_bytes())
    except OSError as error:
        notes = (f"Your progress file is damaged and cannot be repaired here ({reason(error)}).",)
    return Log(_parsed(events), notes)


def delete(path: Path) -> int:
    """Remove the file and all copies of damaged ones; gives how many files that were."""
    if not path.parent.exists():
        return 0
    with locked(path):
        files = [path] if path.exists() else []
        files += path.parent.glob(f"{path.stem}.damaged-*{path.suffix}")
        for file in files:
            file.unlink()
    return len(files)


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
    """Whether the file is missing, empty, or ends with a whole line."""
    if not path.exists() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _repair(path: Path) -> tuple[str, ...]:
    """Make a damaged file whole, and tell of it. The caller holds the lock."""
    content = path.read_bytes()
    good, bad = _sorted_out(content)
    if bad:
        copy = _free_name(path)
        write_atomically(copy, content)
    write_atomically(path, b"".join(line + b"\n" for line in good))
    if not bad:
        return ()
    lines = "one line" if len(bad) == 1 else f"{len(bad)} lines"
    return (
        f"Your progress file was damaged: {lines} could not be read. The other {len(good)} are kept, and the "
        f"file as it was is saved beside it as {copy.name}.",
    )


def _sorted_out(content: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines that hold an event, and those that should and do not."""
    lines = [line for line in content.split(b"\n") if line.strip()]
    good = [line for line in lines if _is_event(line)]
    return good, [line for line in lines if not _is_event(line)]


def _is_event(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return False


def _parsed(lines: list[bytes]) -> tuple[dict, ...]:
    return tuple(map(json.loads, lines))


def _free_name(path: Path) -> Path:
    number = 1
    while (copy := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    return copy
