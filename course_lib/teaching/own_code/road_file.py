"""The learner's own functions, kept as source in `my_road.py` in their folder, theirs to read and to edit.

    # --- soft_lookup · lesson 08 · 2026-11-15
    import torch


    def soft_lookup(query, keys, values):
        ...

One block for each exercise. No torch is needed to list what is kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching.progress import locked

HEADER = re.compile(r"^# --- (\w+) · lesson (\w+) · (\d{4}-\d\d-\d\d) *\r?\n", re.MULTILINE)
TOP = (
    "# Your own functions, each kept when its check passed. Later lessons use them. They are yours to edit;\n"
    "# only leave the lines that begin with # --- as they are: a function is found by them.\n"
)
TROUBLE = (OSError, RuntimeError, ValueError)  # no disk, no right, no lock, no home folder, no text


class Kept(NamedTuple):
    """One block of the file: the exercise, the number of its lesson, the day it passed, its source."""

    name: str
    lesson: str
    date: str
    source: str


def road_path() -> Path:
    return user_folder() / "my_road.py"


def road() -> list[Kept]:
    """What is kept, in the order of the file; nothing where it cannot be read."""
    try:
        return blocks()[1]
    except TROUBLE:
        return []


def blocks() -> tuple[str, list[Kept]]:
    """What stands above the first block, and the blocks. Raises one of TROUBLE where nothing can be read."""
    file = road_path()
    if not file.exists():
        return TOP, []
    top, *parts = HEADER.split(file.read_text(encoding="utf-8-sig"))
    return top, [Kept(*parts[i : i + 4]) for i in range(0, len(parts), 4)]


def write_block(new: Kept) -> None:
    """Put a block into the file, in place of an older one of the same name."""
    file = road_path()
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file):
        top, old = blocks()
        before = [kept for kept in old if kept.name == new.name]
        if any(kept.source.strip() == new.source.strip() for kept in before):
            return  # the day it first passed stays
        if before:  # it may have been edited by hand
            write_atomically(file.with_name("my_road_before.py"), file.read_text(encoding="utf-8"))
        blocks_now = [new if kept in before else kept for kept in old] + ([] if before else [new])
        parts = [
            f"# --- {kept.name} · lesson {kept.lesson} · {kept.date}\n{kept.source.strip()}\n"
            for kept in blocks_now
        ]
        write_atomically(file, "\n\n".join([(top.strip() or TOP.strip()) + "\n", *parts]))
