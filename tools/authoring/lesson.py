"""A lesson: its source file, read into cells that know their minutes.

>>> from course_lib.runtime import PROJECT_ROOT
>>> read_lesson(sources(PROJECT_ROOT)[8], PROJECT_ROOT).title
'Query, key, value'
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tools.authoring.cell_kinds import SHORT, STRETCH
from tools.authoring.minutes import with_minutes
from tools.authoring.solutions import with_solutions
from tools.authoring.source import Cell, read_cells
from tools.authoring.tracks import with_tracks


@dataclass(frozen=True)
class LessonSource:
    """A parsed lesson source. `path` is relative to the project's root."""

    path: str
    name: str  # of its notebook, NN_topic
    sha256: str
    cells: tuple[Cell, ...]

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def topic(self) -> str:
        return self.name[3:]

    @property
    def title(self) -> str:
        """The heading of the title cell, without hash and number."""
        text = next((cell.text for cell in self.cells if cell.kind == "title"), self.name)
        return re.sub(r"^#\s*(\d\d\s*·)?\s*", "", text.split("\n")[0])

    @property
    def question(self) -> str:
        """What the title cell asks, with a capital letter; empty if it asks nothing."""
        text = "\n".join(cell.text for cell in self.cells if cell.kind == "title")
        match = re.search(r"\*\*The question:\*\* (.)(.+)", text)
        return match[1].upper() + match[2] if match else ""

    @property
    def minutes(self) -> float:
        """Of the lesson without its stretch cells."""
        return round(sum(cell.minutes for cell in self.cells if cell.track != STRETCH), 1)

    @property
    def short_minutes(self) -> float:
        """Of the short track."""
        return round(sum(cell.for_short_track.minutes for cell in self.cells if cell.track == SHORT), 1)

    @property
    def introduction(self) -> bool:
        """Whether the title cell's header has introduction=true."""
        return any(cell.options.get("introduction") for cell in self.cells)

    @property
    def part(self) -> str:
        """The part of the course that the title cell's header begins; empty if it begins none."""
        return next((cell.options["part"] for cell in self.cells if "part" in cell.options), "")

    @property
    def exercises(self) -> dict[str, str]:
        """The track of each exercise, in order."""
        return {cell.options["exercise"]: cell.track for cell in self.cells if cell.kind == "exercise"}


def sources(root: Path) -> list[Path]:
    """The file of every lesson source, in order."""
    return sorted((root / "lessons").glob("l[0-9][0-9]_*/lesson.py"))


def read_lesson(path: Path, root: Path) -> LessonSource:
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()  # the same on Windows: read_text normalises line ends
    cells = with_tracks(with_solutions(read_cells(text), path.parent))
    cells = with_minutes(cells, path.with_name("quiz.json"))
    return LessonSource(path.relative_to(root).as_posix(), path.parent.name[1:], digest, cells)
