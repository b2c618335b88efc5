"""What can be left out of a lesson or a workshop, and in which order, so that what remains still runs.

    >>> read_and_defined("total = sum(weights)")[1]
    {'total'}

A part must not be left out while a later part uses a name that it defines, or its exercise (`yours("…")`).
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import CodeType
from typing import Any

from tools.authoring.cell_kinds import CODE, SHORT, STRETCH
from tools.authoring.source import Cell
from tools.authoring.tracks import Section, parts_of

EXERCISE = re.compile(r"(?:, )?exercise \d+ · [^,]+")
YOURS = re.compile(r"""\byours\(\s*["'](\w+)""")


@dataclass(frozen=True, eq=False)
class Part:
    """Cells that are left out together. Only cells of the same notebook share their names."""

    label: str
    section: str
    cells: tuple[Cell, ...]
    optional: bool = True
    whole: bool = False  # a section, with whatever else is left of it
    notebook: str = ""

    @property
    def minutes(self) -> float:
        return sum(cell.minutes for cell in self.cells)

    @property
    def track(self) -> str:
        return self.cells[0].track


def stretch_first(part: Part) -> bool:
    return part.track != STRETCH


def lesson_cuts(sections: Sequence[Section]) -> list[tuple[Part, bool]]:
    """The optional parts of a lesson in cut order, stretch first. True: a part that stays asks for its
    exercise with `yours`, and then gets the course's version; such parts come last."""
    parts = lesson_parts(sections)
    order = in_cut_order(parts, users_of(parts), stretch_first)
    rest = [part for part in parts if part not in order]
    last = in_cut_order(rest, users_of(rest, exercises=False), stretch_first)
    rows: dict[Part, bool] = {}
    gone: set[Part] = set()
    for part in (*order, *last):
        if part not in gone:
            together = [part]
            if part.whole:
                together = [other for other in parts if other.section == part.section and other not in gone]
            cells = tuple(cell for other in together for cell in other.cells)
            rows[replace(part, cells=cells)] = part in last
            gone |= set(together)
    return list(rows.items())


def lesson_parts(sections: Sequence[Section]) -> list[Part]:
    """A lesson's parts. What the short track leaves out is optional: a whole section, or consecutive cells of
    one track, so that an exercise is in one part with its card, check and hints."""
    parts = []
    for title, all_cells in sections:
        cells = [cell for cell in all_cells if cell.kind != "instructor"]
        whole = all(cell.track != SHORT for cell in cells)
        # The stretch cells of a core section are a part of their own.
        runs = groupby(
            sorted(cells, key=lambda cell: cell.track) if whole else cells, lambda cell: cell.track
        )
        for track, run in runs:
            members = tuple(run)
            is_section = whole and members[0] is cells[0]
            label = f"Section {title}" if is_section else part_label(members)
            parts.append(Part(label, title, members, optional=track != SHORT, whole=is_section))
    return parts


def part_label(cells: Sequence[Cell]) -> str:
    """What is in these cells: the exercises, and what the author's `contents` say, or else the first line."""
    exercises = [f"exercise {cell.options['label']}" for cell in cells if cell.kind == "exercise"]
    written = ", ".join(cell.options["contents"] for cell in cells if "contents" in cell.options)
    for exercise in EXERCISE.findall(written):  # it may be in the next part
        written = written if exercise.strip(", ") in exercises else written.replace(exercise, "")
    missing = [] if "exercise" in written.lower() else exercises
    label = ", ".join([*missing, *filter(None, [written])]) or parts_of(list(cells))
    if label == "more detail":
        first_line = next(filter(None, (line.strip("#> ") for line in cells[0].text.split("\n"))), "")
        return f"{cells[0].kind} cell: {first_line[:60]}"
    return label[0].upper() + label[1:]


def in_cut_order(
    parts: Sequence[Part], users: Sequence[set[int]], preference: Callable[[Part], Any]
) -> list[Part]:
    """The optional parts that can be left out. Each comes after every part that uses it; among those that
    are free, the one with the smallest preference comes first."""
    left, order = set(range(len(parts))), []
    while free := [index for index in sorted(left) if parts[index].optional and not users[index] & left]:
        best = min(free, key=lambda index: preference(parts[index]))
        left.remove(best)
        order.append(parts[best])
    return order


def users_of(parts: Sequence[Part], exercises: bool = True) -> list[set[int]]:
    """For each part, the indices of the later parts that use a name of it, or its exercise."""
    users: list[set[int]] = [set() for _ in parts]
    defined_by: dict[tuple[str, str], int] = {}
    cells = [(cell, index) for index, part in enumerate(parts) for cell in part.cells]
    # The stretch cells of a section can be between its other cells. Notebooks stay in their order.
    notebooks = list(dict.fromkeys(part.notebook for part in parts))
    cells.sort(key=lambda entry: (notebooks.index(parts[entry[1]].notebook), entry[0].line))
    for cell, index in cells:
        if cell.form != CODE:
            continue
        notebook = parts[index].notebook
        read, defined = read_and_defined(cell.text)
        asked = YOURS.findall(cell.text) if exercises else []
        keys = {(notebook, name) for name in read} | {("yours", name) for name in asked}
        for key in keys & defined_by.keys():
            if defined_by[key] != index:
                users[defined_by[key]].add(index)
        defined_by |= {(notebook, name): index for name in defined}
        if cell.kind == "exercise":
            defined_by["yours", cell.options["exercise"]] = index
    return users


def read_and_defined(source: str) -> tuple[set[str], set[str]]:
    """The names that the code of a cell reads from other cells, and those that it defines."""
    read, read_inside, defined = set(), set(), set()
    try:
        code = compile(source, "", "exec")
    except SyntaxError:  # such as a `return` outside a function: reported when the lesson is executed
        return read, defined
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_NAME":
            defined.add(instruction.argval)
        elif instruction.opname == "LOAD_NAME" and instruction.argval not in defined:
            read.add(instruction.argval)
        elif isinstance(instruction.argval, CodeType):
            read_inside |= global_names(instruction.argval)
    return read | (read_inside - defined), defined


def global_names(code: CodeType) -> set[str]:
    """The names that a function or class, with everything inside it, reads from outside."""
    names = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
        elif isinstance(instruction.argval, CodeType):
            names |= global_names(instruction.argval)
    return names
