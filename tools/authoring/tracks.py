"""The tracks of a lesson, and the editions made by leaving cells out.

A section has the track of its heading, such as `kind="text" track="short"`, and is core if the heading names
none; a cell inside may have another. Short cells are also core. The frame of a lesson (title, goals, setup,
recall, closing quiz, summary, reading) is on every track.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from tools.authoring.cell_kinds import CORE, MARKDOWN, SHORT, STRETCH
from tools.authoring.source import Cell, LessonError, cell_ids, without_fences

FRAME = ("title", "goals", "setup", "recall", "summary", "reading", "instructor")
CLOSING = re.compile(r'\bquiz\("\d\d", "closing"\)')
START = re.compile(r"^(start_lesson\([^)]*)\)", re.MULTILINE)
OPENS_EXPLORABLE = re.compile(r",\s*[A-Z]\w+\(\)")
LEFT_OUT = "left_out"  # the kind of cell that names what the short edition leaves out
Section = tuple[str, list[Cell]]


def heading(cell: Cell) -> str:
    """The `## heading` that a cell opens a section with; empty if it opens none."""
    if cell.form != MARKDOWN or cell.kind in ("card", "hints", "instructor"):
        return ""
    match = re.search(r"^## (.+)", without_fences(cell.text), re.MULTILINE)
    return match[1].strip() if match else ""


def with_tracks(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells of a source, each with its track. What belongs to an exercise follows the exercise."""
    cells = tuple(cells)
    exercises = {cell.options["exercise"]: cell.track for cell in cells if cell.kind == "exercise"}
    section, exercise, tracked = SHORT, None, []
    for cell in cells:
        if heading(cell):
            section = cell.options.get("track", CORE)
        exercise = exercise if cell.kind in ("check", "hints") else cell.options.get("exercise")
        in_frame = cell.kind in FRAME or CLOSING.search(cell.text)
        track = SHORT if in_frame else cell.options.get("track", section)
        track = exercises.get(exercise, track)
        tracked.append(replace(cell, options=cell.options | {"track": track}))
    return tuple(tracked)


def split_at_headings(cells: Iterable[Cell]) -> list[Section]:
    """Split the lesson at its `## headings`; the cells before the first one are the opening."""
    sections: list[Section] = [("Opening", [])]
    for cell in cells:
        if title := heading(cell):
            sections.append((title, []))
        sections[-1][1].append(cell)
    return sections


def track_problems(cells: Iterable[Cell]) -> Iterator[LessonError]:
    """Sections whose heading and cells don't fit together on a track."""
    for title, section in split_at_headings(cells):
        if not section:
            continue  # a lesson without an opening
        first, tracks = section[0], {cell.track: cell for cell in section if cell.kind != "instructor"}
        if not heading(first):
            continue
        if first.track == STRETCH and tracks.keys() != {STRETCH}:
            other = next(cell for track, cell in tracks.items() if track != STRETCH)
            message = f"this cell is {other.track}, but the heading of its section, {title!r}, is stretch"
            yield LessonError(other.line, f"{message}, and folding the heading would hide the cell")
        elif first.track != SHORT and SHORT in tracks:
            message = f"this cell is on the short track, but the heading of its section, {title!r}, isn't"
            yield LessonError(tracks[SHORT].line, f'{message}; give the heading track="short"')
        elif first.track != SHORT and "contents" not in first.options:
            message = f"the short track skips the section {title!r}; say in its header what it contains"
            yield LessonError(first.line, f'{message}, as in contents="how to test a decoder"')


# ---- editions


def core_cells(cells: list[Cell]) -> list[Cell]:
    """The learner's cells without the stretch ones."""
    return [cell for cell in cells if cell.track != STRETCH]


def short_cells(cells: list[Cell], notebook: str) -> list[Cell]:
    """The short edition: the cells on the short track, and a line for each part that is left out."""
    ids, built = iter(cell_ids(cells)), []
    for _, section in split_at_headings(cells):
        for on_track, group in groupby(section, lambda cell: cell.track == SHORT):
            part = [(cell, f"./../{notebook}.ipynb#cell-id={next(ids)}") for cell in group]
            if on_track:
                built += [adapted(cell, notebook) for cell, _ in part]
            else:
                built.append(left_out_line([cell for cell, _ in part], link=part[0][1]))
    return joined(built)


def adapted(cell: Cell, notebook: str) -> Cell:
    """A cell for the short edition: without lines for the full lesson only, with a title that says what it is
    and a setup that starts the short track."""
    cell = cell.for_short_track
    if cell.kind == "title":
        here, full = f"[short track](short/{notebook}.ipynb)", f"[full lesson](./../{notebook}.ipynb)"
        note = f"You are on the short track. The {full} has everything."
        return replace(cell, text=f"{cell.text.replace(here, 'short track')}\n\n{note}")
    if cell.kind == "setup":
        return replace(cell, text=START.sub(r'\1, track="short")', cell.text))
    return cell


def left_out_line(cells: list[Cell], link: str) -> Cell:
    """A cell with one line for cells that are left out: what they contain, how long they take, and a link.

    The link starts with `./`, because `../` is rewritten for notebooks in the folder below, and leads
    to a cell by its id: JupyterLab doesn't find headings with characters that browsers encode.
    """
    minutes = f"about {max(1, round(sum(cell.minutes for cell in cells)))} min"
    if title := heading(cells[0]):
        text = f"- [{title}]({link}): {parts_of(cells)} ({minutes})"
    else:
        text = f"- {parts_of(cells)} ({minutes}, [in the full lesson]({link}))"
    return Cell(LEFT_OUT, MARKDOWN, cells[0].line, text, (), {"track": SHORT, "minutes": 0})


def parts_of(cells: list[Cell]) -> str:
    """What is in these cells, in a few words: the author's, or else the exercises and explorables."""
    if written := [cell.options["contents"] for cell in cells if "contents" in cell.options]:
        return ", ".join(written)
    parts = [f"exercise {cell.options['label']}" for cell in cells if cell.kind == "exercise"]
    n_explorables = sum(bool(OPENS_EXPLORABLE.search(cell.text)) for cell in cells if cell.kind == "predict")
    if n_explorables:
        parts.append("an explorable" if n_explorables == 1 else f"{n_explorables} explorables")
    return ", ".join(parts) or "more detail"


def joined(cells: list[Cell]) -> list[Cell]:
    """The cells, with consecutive lines about left-out parts as one cell."""
    built: list[Cell] = []
    for cell in cells:
        if cell.kind != LEFT_OUT:
            built.append(cell)
        elif built and built[-1].kind == LEFT_OUT:
            built[-1] = replace(built[-1], text=f"{built[-1].text}\n{cell.text}")
        else:
            built.append(replace(cell, text=f"*Not on the short track:*\n\n{cell.text}"))
    return built
