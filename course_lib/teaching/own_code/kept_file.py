"""The file `my_road.py` in the learner's folder: the source of their own functions, which they can edit.

    # --- soft_lookup · lesson 08 · 2026-11-15
    import torch


    def soft_lookup(query, keys, values):
        ...

There is one block per exercise. This module doesn't import torch: the command line uses it too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching.progress import lock

HEADER = re.compile(r"^# --- (\w+) · lesson (\w+) · (\d{4}-\d\d-\d\d) *\r?\n", re.MULTILINE)
TOP = (
    "# Your own functions, each saved when it passed its check. Later lessons use them. You can edit them,\n"
    "# but leave the lines that start with # --- unchanged: the course uses them to find each function.\n"
)
FILE_ERRORS = (OSError, RuntimeError, ValueError)  # disk, permission, lock; no home folder; not UTF-8


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
    except FILE_ERRORS:
        return []


def read_kept_file() -> tuple[str, list[KeptFunction]]:
    """The text above the first block, and the blocks. Raises one of FILE_ERRORS if it can't be read."""
    file = kept_file()
    if not file.exists():
        return TOP, []
    top, *parts = HEADER.split(file.read_text(encoding="utf-8-sig"))
    return top, [KeptFunction(*parts[i : i + 4]) for i in range(0, len(parts), 4)]


def write_function(new: KeptFunction) -> None:
    """Write a block to the file, replacing an older one of the same name."""
    file = kept_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock(file):
        top, functions = read_kept_file()
        replaced = [function for function in functions if function.name == new.name]
        if any(function.source.strip() == new.source.strip() for function in replaced):
            return  # the day it first passed stays
        if replaced:  # it may have been edited by hand
            write_atomically(file.with_name("my_road_before.py"), file.read_text(encoding="utf-8"))
        functions = [new if function in replaced else function for function in functions]
        functions += [] if replaced else [new]
        parts = [top.strip() or TOP.strip()]
        for name, lesson, date, source in functions:
            parts.append(f"# --- {name} · lesson {lesson} · {date}\n{source.strip()}")
        write_atomically(file, "\n\n\n".join(parts) + "\n")
