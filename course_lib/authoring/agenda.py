"""The instructor's first cell: a timing table, the exercises, and what to cut when time runs short."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.authoring.built import BuiltCell
from course_lib.authoring.card import STARS, dots
from course_lib.authoring.cells import MARKDOWN
from course_lib.authoring.exercise import Exercise
from course_lib.authoring.hints import outside_fences

OPENING = "Opening"


@dataclass(frozen=True)
class Section:
    title: str
    cells: tuple[BuiltCell, ...]

    @property
    def minutes(self) -> float:
        return sum(cell.minutes for cell in self.cells)

    @property
    def stretch(self) -> float:
        return sum(cell.minutes for cell in self.cells if cell.track == "stretch")


def sections(cells: list[BuiltCell]) -> list[Section]:
    """Cut the lesson at its `## headings`; what stands before the first one is the opening."""
    titles, groups = [OPENING], [[]]
    for cell in cells:
        if heading := section_heading(cell):
            titles.append(heading)
            groups.append([])
        groups[-1].append(cell)
    return [Section(title, tuple(group)) for title, group in zip(titles, groups, strict=True) if group]


def section_heading(cell: BuiltCell) -> str:
    if cell.form != MARKDOWN or cell.kind in ("card", "hints", "instructor"):
        return ""
    headings = (
        line.removeprefix("## ").strip() for _, line in outside_fences(cell.text) if line.startswith("## ")
    )
    return next(headings, "")


def clock(minutes: float) -> str:
    """Minutes since the start, as 1:05."""
    return f"{int(minutes) // 60}:{int(minutes) % 60:02}"


def table(words: int, head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table: so many columns of words, to the left, then columns of figures, to the right."""
    lines = [head, [":--" if column < words else "--:" for column in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def agenda(title: str, cells: list[BuiltCell], exercises: list[Exercise]) -> str:
    """The whole cell as Markdown."""
    parts = sections(cells)
    total = sum(part.minutes for part in parts)
    stretch = sum(part.stretch for part in parts)
    return "\n\n".join(
        [
            f"# Run sheet · {title}",
            f"**{total:g} minutes** as it stands, **{total - stretch:g} minutes** with the core alone.",
            "## Timing",
            timing(parts, total, stretch),
            "## Exercises",
            exercise_list(exercises),
            "## Cut list",
            cut_list(parts, exercises),
        ]
    )


def timing(parts: list[Section], total: float, stretch: float) -> str:
    rows, now = [], 0.0
    for part in parts:
        rows.append(
            [
                part.title,
                clock(now),
                f"{part.minutes:g}",
                f"{part.minutes - part.stretch:g}",
                f"{part.stretch:g}",
            ]
        )
        now += part.minutes
    rows.append(["**End**", clock(now), f"{total:g}", f"{total - stretch:g}", f"{stretch:g}"])
    return table(1, ["Section", "Starts at", "Minutes", "★ core", "☆ stretch"], rows)


def exercise_list(exercises: list[Exercise]) -> str:
    if not exercises:
        return "There are no exercises in this lesson."
    rows = [
        [
            f"{exercise.number} · {exercise.title}",
            STARS[exercise.track],
            dots(exercise.difficulty),
            dots(exercise.importance),
            f"{exercise.minutes:g}",
        ]
        for exercise in exercises
    ]
    return table(4, ["Exercise", "Track", "Difficulty", "Importance", "Minutes"], rows)


def cut_list(parts: list[Section], exercises: list[Exercise]) -> str:
    """What is marked stretch, in the order of the lesson, with the minutes each cut saves."""
    titles = {exercise.name: f"Exercise {exercise.number} · {exercise.title}" for exercise in exercises}
    rows, saved = [], 0.0
    for part in parts:
        for cell in part.cells:
            if cell.track == "stretch" and cell.minutes:
                saved += cell.minutes
                first_line = cell.text.split("\n")[0].lstrip("#> ").strip()
                what = titles.get(cell.exercise or "", f"{cell.kind} cell: {first_line[:60]}")
                rows.append([what, part.title, f"{cell.minutes:g}", f"{saved:g}"])
    if not rows:
        return "Nothing is marked stretch: every cell of this lesson is core."
    return table(2, ["Leave out", "Section", "Saves (min)", "Saved so far"], rows)
