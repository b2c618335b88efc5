"""The instructor's first cell: a timing table, the exercises, and what to cut when time runs short.

| Section | Starts at | Minutes | ★ core | ☆ stretch |
| :-- | --: | --: | --: | --: |
| Opening | 0:00 | 4 | 4 | 0 |
"""

from __future__ import annotations

import re

from course_lib.authoring.cell_kinds import MARKDOWN
from course_lib.authoring.exercise_cells import STARS, dots
from course_lib.authoring.source import Cell, without_fences

Section = tuple[str, list[Cell]]


def agenda(title: str, cells: list[Cell]) -> str:
    """The whole cell as Markdown."""
    sections, timing, now = cut_at_headings(cells), [], 0.0
    for section, inside in [*sections, ("**End**", cells)]:
        minutes = spent(inside)
        timing.append([section, f"{int(now) // 60}:{int(now) % 60:02}", *minutes])
        now += minutes[0]
    work = []
    for cell in (cell for cell in cells if cell.kind == "exercise"):
        levels = [dots(cell.options[name]) for name in ("difficulty", "importance")]
        mode = cell.options.get("mode", "build")
        work.append([cell.options["label"], mode, STARS[cell.track], *levels, cell.minutes])
    total, core, _ = spent(cells)
    return "\n\n".join(
        [
            f"# Run sheet · {title}",
            f"**{total:g} minutes** as it stands, **{core:g} minutes** with the core alone.",
            "## Timing",
            table(1, ["Section", "Starts at", "Minutes", "★ core", "☆ stretch"], timing),
            "## Exercises",
            table(5, ["Exercise", "Mode", "Track", "Difficulty", "Importance", "Minutes"], work),
            "## Cut list",
            cut_list(sections),
        ]
    )


def spent(cells: list[Cell]) -> tuple[float, float, float]:
    """Minutes in all, of the core, of the stretch."""
    total = sum(cell.minutes for cell in cells)
    stretch = sum(cell.minutes for cell in cells if cell.track == "stretch")
    return total, total - stretch, stretch


def cut_at_headings(cells: list[Cell]) -> list[Section]:
    """Cut the lesson at its `## headings`; what stands before the first one is the opening."""
    sections: list[Section] = [("Opening", [])]
    for cell in cells:
        heading = re.search(r"^## (.+)", without_fences(cell.text), re.MULTILINE)
        if heading and cell.form == MARKDOWN and cell.kind not in ("card", "hints", "instructor"):
            sections.append((heading[1].strip(), []))
        sections[-1][1].append(cell)
    return sections


def table(words: int, head: list[str], rows: list[list[str | float]]) -> str:
    """A Markdown table: so many columns of words, to the left, then columns of figures, to the right."""
    lines = [head, [":--" if column < words else "--:" for column in range(len(head))]]
    lines += [[cell if isinstance(cell, str) else f"{cell:g}" for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def cut_list(sections: list[Section]) -> str:
    """What is marked stretch, in the order of the lesson, with the minutes each cut saves."""
    rows, saved = [], 0.0
    for title, cells in sections:
        for cell in cells:
            if cell.track == "stretch" and cell.minutes:
                saved += cell.minutes
                first_line = cell.text.split("\n")[0].lstrip("#> ").strip()
                what = f"{cell.kind} cell: {first_line[:60]}"
                if "label" in cell.options:
                    what = f"Exercise {cell.options['label']}"
                rows.append([what, title, cell.minutes, saved])
    if not rows:
        return "Nothing is marked stretch: every cell of this lesson is core."
    return table(2, ["Leave out", "Section", "Saves (min)", "Saved so far"], rows)
