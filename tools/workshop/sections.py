"""The sections that a plan teaches: their minutes, exercises, and what they need from each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from course_lib.teaching.contents import FULL, SHORT
from tools.authoring.build import draft
from tools.authoring.cell_kinds import CORE, KINDS
from tools.authoring.cuts import Part as CutPart
from tools.authoring.cuts import in_cut_order, users_of
from tools.authoring.editions import LessonDraft
from tools.authoring.lesson import sources
from tools.authoring.source import Cell
from tools.authoring.tracks import split_at_headings
from tools.workshop.plans import Part, Plan

EDITION = {FULL: CORE, SHORT: SHORT}
HANDS_ON = {"card", "exercise", "hints", "explore"} | {
    kind.name for kind in KINDS.values() if kind.gives_feedback
}
OPENING, AT_HOME = "Opening", "Reading"
WARM_UP = "Warm up"  # recall of the lessons before


@dataclass(frozen=True, eq=False)
class TaughtSection:
    """A section of a lesson as the workshop teaches it."""

    draft: LessonDraft
    part: Part
    title: str
    cells: tuple[Cell, ...]

    @property
    def lesson(self) -> str:
        return self.part.lesson

    @cached_property
    def minutes(self) -> int:
        return max(1, round(sum(cell.minutes for cell in self.cells)))

    @cached_property
    def hands_on(self) -> float:
        return sum(cell.minutes for cell in self.cells if cell.kind in HANDS_ON)

    @property
    def number(self) -> int | None:
        match = re.match(r"(\d+) · ", self.title)
        return int(match[1]) if match else None

    @property
    def is_kept(self) -> bool:
        return self.number in self.part.keep

    @property
    def exercises(self) -> list[str]:
        return [cell.options["exercise"] for cell in self.cells if cell.kind == "exercise"]

    @property
    def notebook(self) -> str:
        """Its path in the course's folder."""
        return f"notebooks/{'short/' if self.part.track == SHORT else ''}{self.draft.lesson.name}.ipynb"

    @property
    def catch_up(self) -> str:
        """The line that gives a learner everything before this section."""
        return f'catch_up("{self.lesson}"{f", {self.number}" if self.number else ""})'


def taught_sections(plan: Plan, root: Path) -> list[TaughtSection]:
    """The sections of a plan, in order. Warm-ups are taught only if the lesson before is, reading never."""
    files = {path.parent.name[1:3]: path for path in sources(root)}
    taught: list[TaughtSection] = []
    numbers: list[int] = []
    for part in plan.parts:
        made = read_draft(files[part.lesson], root)
        for title, cells in split_at_headings(made.cells[EDITION[part.track]]):
            section = TaughtSection(made, part, title, tuple(cells))
            no_recall = title == WARM_UP and int(part.lesson) - 1 not in numbers
            if not (no_recall or title == AT_HOME or leaves_out(part, section.number, title)):
                taught.append(section)
        numbers.append(int(part.lesson))
    return taught


@cache
def read_draft(path: Path, root: Path) -> LessonDraft:
    return draft(path, root)


def skipped_sections(part: Part, taught: Sequence[TaughtSection]) -> list[str]:
    """The titles of the sections that are in the notebook of a part, and not among those that are taught."""
    sections = split_at_headings(taught[0].draft.cells[EDITION[part.track]])
    titles = {section.title for section in taught}
    return [title for title, _ in sections if title not in (OPENING, AT_HOME, *titles)]


def leaves_out(part: Part, number: int | None, title: str) -> bool:
    if not part.only:
        return number in part.without
    return number not in part.only and not (1 in part.only and title == OPENING)


def as_parts(sections: Sequence[TaughtSection], *, cut_kept: bool = False) -> list[CutPart]:
    """The sections as parts that can be cut: the numbered ones, unless the plan keeps them."""
    return [
        CutPart(
            section.title,
            section.title,
            section.cells,
            optional=section.number is not None and (cut_kept or not section.is_kept),
            notebook=section.lesson,
        )
        for section in sections
    ]


def section_users(sections: Sequence[TaughtSection]) -> list[set[int]]:
    """For each section, the indices of those that use it: its code or its exercises. All sections of a lesson
    use the first one, which introduces it."""
    users = users_of(as_parts(sections))
    for index, section in enumerate(sections):
        same = [n for n, other in enumerate(sections) if other.part is section.part and other.number]
        if same[:1] == [index]:
            users[index] |= set(same[1:])
    return users


def in_order_of_cutting(sections: Sequence[TaughtSection], *, cut_kept: bool = False) -> list[TaughtSection]:
    """The sections that can be cut: first those that the short track leaves out, then those without an
    exercise, the latest first. Each comes after those that use it. With `cut_kept`, those that the plan keeps
    come last instead of never."""
    parts = as_parts(sections, cut_kept=cut_kept)
    indices = {part: index for index, part in enumerate(parts)}

    def preference(part: CutPart) -> tuple[bool, bool, bool, int]:
        section = sections[indices[part]]
        return section.is_kept, part.track == SHORT, bool(section.exercises), -indices[part]

    return [sections[indices[part]] for part in in_cut_order(parts, section_users(sections), preference)]
