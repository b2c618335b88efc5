"""The file `my_road.py` in the learner's folder: the source of their own functions, which they can edit.

    # --- soft_lookup · lesson 08 · 2026-11-15
    import torch


    def soft_lookup(query, keys, values):
        ...

There is one block per exercise. Before a block is replaced, the file is copied to `my_road_backups`, because
it may have been edited by hand. This module doesn't import torch: the command line uses it too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching.progress import explain, lock

HEADER = re.compile(r"^# --- (\w+) · lesson (\w+) · (\d{4}-\d\d-\d\d) *\r?\n", re.MULTILINE)
TOP = (
    "# Your own functions, each saved when it passed its check. Later lessons use them. You can edit them,\n"
    "# but leave the lines that start with # --- unchanged: the course uses them to find each function.\n"
    "# Before a function is replaced by a new one, this file is copied to the folder my_road_backups.\n"
)
NOT_UTF8 = "it isn't encoded in UTF-8. Open it in your editor and save it as UTF-8; it has not been changed"


class KeptFileError(Exception):
    """Why `my_road.py` can't be read or written; the message, without a full stop, names the file."""


class KeptFunction(NamedTuple):
    """One block of the file: the exercise, its lesson's number, the day it passed, and its source."""

    name: str
    lesson: str
    date: str
    source: str


def kept_file() -> Path:
    return user_folder() / "my_road.py"


def list_own_functions() -> list[KeptFunction]:
    """The functions in the file, in order; none if it can't be read."""
    try:
        return read_kept_file()[1]
    except KeptFileError:
        return []


def read_kept_file() -> tuple[str, list[KeptFunction]]:
    """The text above the first block, and the blocks. Raises KeptFileError if it can't be read."""
    with _explain_errors("read") as file:
        if not file.exists():
            return TOP, []
        top, *parts = HEADER.split(file.read_text(encoding="utf-8-sig"))
    return top, [KeptFunction(*parts[i : i + 4]) for i in range(0, len(parts), 4)]


def write_function(new: KeptFunction) -> None:
    """Write a block to the file, replacing an older one of the same name. Raises KeptFileError."""
    with _explain_errors("written") as file:
        file.parent.mkdir(parents=True, exist_ok=True)
        with lock(file):
            top, functions = read_kept_file()
            names = [function.name for function in functions]
            if new.name in names:
                place = names.index(new.name)  # of several, `yours` uses the first
                if functions[place].source.strip() == new.source.strip():
                    return  # the day it first passed stays
                _back_up(file)
                functions[place] = new
            else:
                functions.append(new)
            parts = [top.strip() or TOP.strip()]
            for name, lesson, date, source in functions:
                parts.append(f"# --- {name} · lesson {lesson} · {date}\n{source.strip()}")
            write_atomically(file, "\n\n\n".join(parts) + "\n")


def _back_up(file: Path) -> None:
    """Copy the file as it is, unless there is such a copy already. A copy is never overwritten."""
    folder, content = file.with_name("my_road_backups"), file.read_bytes()
    folder.mkdir(exist_ok=True)
    if any(copy.read_bytes() == content for copy in folder.glob("my_road_*.py")):
        return
    start = f"my_road_{datetime.now():%Y-%m-%d_%H-%M-%S}"
    for number in count(1):
        copy = folder / (f"{start}.py" if number == 1 else f"{start}_{number}.py")
        try:
            stream = copy.open("xb")
        except FileExistsError:
            continue
        try:
            with stream:
                shutil.copymode(file, copy)
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            return
        except BaseException:
            copy.unlink()  # half a copy would look like a backup
            raise


@contextmanager
def _explain_errors(action: str) -> Iterator[Path]:
    """The file, in a `with`; an error becomes a KeptFileError: "…/my_road.py can't be read: …"."""
    file = Path("my_road.py")
    try:
        file = kept_file()
        yield file
    except (OSError, RuntimeError, ValueError) as error:  # disk, permission, lock; no home folder; not UTF-8
        reason = NOT_UTF8 if isinstance(error, UnicodeDecodeError) else explain(error)
        raise KeptFileError(f"{file} can't be {action}: {reason.removesuffix(f' ({file})')}") from error
