"""Turn a lesson into the cells of its three editions: the learner's, the solved and the instructor's.

    >>> assemble(lesson, glossary, repository).notebook("learner")["metadata"]["course"]["title"]
    'Query, key, value'

Everything in a notebook depends on the source alone: two builds of the same source are identical.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.results import UnknownResult, fill
from tools.authoring.cell_kinds import (
    CODE,
    CORE,
    EDITIONS,
    INSTRUCTOR,
    LEARNER,
    MARKDOWN,
    SHORT,
    STRETCH,
)
from tools.authoring.cuts import lesson_cuts
from tools.authoring.exercise_cells import ON_A_CARD, STARS, dots, with_exercises
from tools.authoring.glossary import Glossary, TermLinks
from tools.authoring.lesson import LessonSource
from tools.authoring.lesson_table import rounded
from tools.authoring.printed import fill_printed, named_outputs
from tools.authoring.single_file import colab_link, find_course
from tools.authoring.source import Cell, LessonError, cell_ids
from tools.authoring.tracks import Section, core_cells, heading, short_cells, split_at_headings

PUBLISHED = {LEARNER: "notebooks", SHORT: "notebooks/short"}  # where the repository has these editions
COLAB = "{colab}"  # in a title, replaced by a link when the notebook is made
CELL_METADATA = {"card": ("exercise", *ON_A_CARD), "exercise": ("exercise", "mode")}


@dataclass(frozen=True)
class LessonDraft:
    """A lesson and the cells of each of its editions, before it runs."""

    lesson: LessonSource
    cells: dict[str, list[Cell]]
    repository: str

    def completed(self, edition: str) -> list[Cell]:
        """The cells with what depends on the repository's address: a link to Colab, lines in the setup."""
        link = ""
        if edition in PUBLISHED:
            link = colab_link(self.repository, f"{PUBLISHED[edition]}/{self.lesson.name}.ipynb")
        cells = []
        for cell in self.cells[edition]:
            if cell.kind == "title":
                text = cell.text.replace(COLAB, f"; [open in Colab]({link})" if link else "")
                cell = replace(cell, text=text)
            elif cell.kind == "setup":
                added = find_course(self.repository)
                lines = (cell.line,) * (added.count("\n") + 1) + cell.lines
                cell = replace(cell, text=f"{added}\n{cell.text}", lines=lines)
            cells.append(cell)
        return cells

    def notebook(self, edition: str, outputs: list[list[dict]] | None = None) -> nbformat.NotebookNode:
        """The notebook without outputs. If `outputs` has those of its code cells, the numbers that they print
        are filled into the prose."""
        lesson, cells = self.lesson, self.completed(edition)
        if outputs is not None:
            printed = named_outputs(cells, outputs)
            cells = [replace(cell, text=fill_printed(cell, printed)) for cell in cells]
        if edition != LEARNER:  # stored one folder deeper, in notebooks/short or build/
            cells = [replace(cell, text=with_deeper_links(cell.text)) for cell in cells]
        metadata = {
            "course": {
                "edition": edition,
                "minutes": lesson.short_minutes if edition == SHORT else lesson.minutes,
                "number": lesson.number,
                "source_sha256": lesson.sha256,
                "title": lesson.title,
                "topic": lesson.topic,
            },
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            # No version: the notebook must be the same for every supported Python.
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        }
        return new_notebook(cells=as_cells(cells, cell_ids(self.cells[edition])), metadata=metadata)


def with_deeper_links(text: str) -> str:
    """The relative links of a notebook, for a folder one level below."""
    return text.replace("](../", "](../../").replace("](short/", "](../../notebooks/short/")


def assemble(lesson: LessonSource, glossary: Glossary, repository: str) -> LessonDraft:
    """Make the lesson's editions."""
    links, in_notes = TermLinks(glossary, lesson.number), TermLinks(glossary, lesson.number)
    filled = tuple(  # a note for the instructor doesn't introduce a term to learners
        replace(cell, text=cell_text(cell, lesson, in_notes if cell.kind == "instructor" else links))
        for cell in lesson.cells
    )
    built = with_exercises(filled)
    cells = {edition: [cell for cell in built if edition in cell.editions] for edition in EDITIONS}
    cells[SHORT] = short_cells(cells[LEARNER], lesson.name)
    cells[CORE] = core_cells(cells[LEARNER])
    run_sheet = agenda(lesson.title, cells[INSTRUCTOR], f"../notebooks/short/{lesson.name}.ipynb")
    cells[INSTRUCTOR].insert(0, Cell("agenda", MARKDOWN, 1, run_sheet, (), {"minutes": 0}))
    return LessonDraft(lesson, cells, repository)


def cell_text(cell: Cell, lesson: LessonSource, links: TermLinks) -> str:
    """The cell's text as learners see it: in Markdown, recorded numbers, terms and minutes are filled in."""
    if cell.form != MARKDOWN:
        return cell.text
    try:
        text = links.replace(fill(cell.text))
    except UnknownResult as error:
        raise LessonError(cell.line_at(error.offset), str(error)) from None
    if cell.kind == "title":
        short = f"[short track](short/{lesson.name}.ipynb)"
        if rounded(lesson.short_minutes) != rounded(lesson.minutes):
            short += f": {rounded(lesson.short_minutes)}"
        text = text.replace("{minutes} minutes", f"{rounded(lesson.minutes)} minutes ({short}{COLAB})")
    return text


def as_cells(cells: list[Cell], ids: list[str]) -> list[nbformat.NotebookNode]:
    built = []
    for cell, identity in zip(cells, ids, strict=True):
        names = CELL_METADATA.get(cell.kind, ("exercise",))
        options = {name: cell.options[name] for name in names if name in cell.options}
        course = {"kind": cell.kind, "minutes": cell.minutes, "track": cell.track} | options
        ignored = ["nbval-ignore-output"] if cell.options.get("ignore_output") else []
        metadata = {"course": course, "tags": [cell.kind, *ignored]}
        if cell.options.get("hide_input") or cell.kind == "setup":
            metadata["jupyter"] = {"source_hidden": True}
        if heading(cell) and cell.track == STRETCH:
            metadata["jp-MarkdownHeadingCollapsed"] = True
        new_cell = new_code_cell if cell.form == CODE else new_markdown_cell
        built.append(new_cell(cell.text, id=identity, metadata=metadata))
    return built


def as_text(notebook: nbformat.NotebookNode) -> str:
    """The notebook as it is stored: keys sorted, texts split into lines for readable diffs."""
    return nbformat.writes(nbformat.from_dict(notebook)) + "\n"


def from_text(text: str) -> nbformat.NotebookNode:
    """A stored notebook, with its texts joined again."""
    return nbformat.reads(text, as_version=4)


# ---- the instructor's first cell: a timing table, the exercises, and what to cut if time is short


def agenda(title: str, cells: list[Cell], short_notebook: str) -> str:
    """The run sheet as Markdown."""
    sections, timing, start = split_at_headings(cells), [], 0.0
    for section, section_cells in [*sections, ("**End**", cells)]:
        minutes = count_minutes(section_cells)
        timing.append([section, f"{int(start) // 60}:{int(start) % 60:02}", *minutes])
        start += minutes[0]
    work = []
    for cell in (cell for cell in cells if cell.kind == "exercise"):
        levels = [dots(cell.options[name]) for name in ("difficulty", "importance")]
        mode = cell.options.get("mode", "build")
        work.append([cell.options["label"], mode, STARS[cell.track], *levels, cell.minutes])
    total, short, core, _ = count_minutes(cells)
    return "\n\n".join(
        [
            f"# Run sheet · {title}",
            f"**{total:.0f} minutes** in total, **{core:.0f} minutes** for the core, "
            f"**{short:.0f} minutes** for the [short track]({short_notebook}).",
            "## Timing",
            table(1, ["Section", "Starts at", "Minutes", "Short track", "★ Core", "☆ Stretch"], timing),
            "## Exercises",
            table(5, ["Exercise", "Mode", "Track", "Difficulty", "Importance", "Minutes"], work),
            "## Cut list",
            cut_list(sections),
        ]
    )


def count_minutes(cells: list[Cell]) -> tuple[float, float, float, float]:
    """Minutes in total, of the short track, of the core (which includes it), of stretch cells."""
    total = sum(cell.minutes for cell in cells)
    short = sum(cell.for_short_track.minutes for cell in cells if cell.track == SHORT)
    stretch = sum(cell.minutes for cell in cells if cell.track == STRETCH)
    return total, short, total - stretch, stretch


def table(n_left: int, head: list[str], rows: list[list[str | float]]) -> str:
    """A Markdown table: the first `n_left` columns are left-aligned, the others right-aligned."""
    lines = [head, [":--" if column < n_left else "--:" for column in range(len(head))]]
    lines += [[cell if isinstance(cell, str) else f"{cell:.0f}" for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def cut_list(sections: list[Section]) -> str:
    """What can be left out, in order, with the minutes that each cut saves."""
    rows, saved, note = [], 0.0, ""
    for part, replaced in lesson_cuts(sections):
        saved += part.minutes
        label, section = part.label, "" if part.whole else part.section
        if replaced:
            label += " \\*"
            note = "\n\n\\* A later section uses this exercise, and then gets the course's version of it."
        rows.append([label, section, STARS[part.track], part.minutes, saved])
    if not rows:
        return "Nothing to cut: every cell of this lesson is on the short track."
    intro = "Cut from the top: what remains never uses the code of a row above it."
    head = ["Leave out", "Section", "Track", "Saves (min)", "Saved so far"]
    return f"{intro}\n\n{table(3, head, rows)}{note}"
