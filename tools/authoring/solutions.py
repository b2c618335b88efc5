"""The code of a lesson's exercises, from its solutions.py.

    # %% kind="exercise" exercise="scaled_attention" title="Scaled dot-product attention" ...
    from lessons.l08_query_key_value.solutions import scaled_attention

In the notebook, the definition replaces the import, with the markers of the solution. In an
exercise of mode "bug", the learner gets the solution with the mistake called "unrepaired". A cell with code
of its own keeps it.
"""

from __future__ import annotations

import ast
from pathlib import Path

from course_lib.teaching.exercises.mistakes import UNREPAIRED, read_mistakes
from tools.authoring.source import Cell, FileLine, LessonError

FILE = "solutions.py"
START, END = "# solution", "# end solution"
Lines = list[tuple[int, str]]


def with_solutions(cells: tuple[Cell, ...], folder: Path) -> tuple[Cell, ...]:
    """The cells of a lesson, with the code of its exercises."""
    file = folder / FILE
    definitions = definitions_in(file.read_text(encoding="utf-8")) if file.exists() else {}
    return tuple(filled(cell, definitions, folder) for cell in cells)


def definitions_in(source: str) -> dict[str, Lines]:
    """The numbered lines of each function and class, up to the next line that isn't indented."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        line = FileLine(error.lineno or 1, FILE)
        raise LessonError(line, f"this is not valid Python: {error.msg}") from None
    lines, found = source.split("\n"), {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            end = next((i for i in range(node.lineno, len(lines)) if lines[i][:1].strip()), len(lines))
            numbered = [(FileLine(i + 1, FILE), lines[i]) for i in range(node.lineno - 1, end)]
            while not numbered[-1][1].strip():
                numbered.pop()
            found[node.name] = numbered
    return found


def filled(cell: Cell, definitions: dict[str, Lines], folder: Path) -> Cell:
    """An exercise cell with the code that it imports; any other cell as it is."""
    name = cell.options.get("exercise")
    if cell.kind != "exercise" or cell.text != f"from lessons.{folder.name}.solutions import {name}":
        return cell
    if name not in definitions:
        raise LessonError(cell.line, f"expected the solution of {name!r} in {FILE}, but there is none")
    numbered = definitions[name]
    if cell.options.get("mode") == "bug":
        numbered = with_bug(numbered, name, folder / "mistakes" / f"{name}.txt", cell.line)
    return cell.with_lines(numbered)


def with_bug(numbered: Lines, name: str, mistakes: Path, line: int) -> Lines:
    """The solution, preceded by the lines that the learner gets."""
    texts = [text for _, text in numbered]
    try:
        [bug] = [mistake for mistake in read_mistakes(mistakes) if mistake.name == UNREPAIRED]
        wrong = bug.apply_to("\n".join(texts), name).split("\n")
    except (OSError, ValueError) as error:
        raise LessonError(line, f"there is no mistake {UNREPAIRED!r} to repair: {error}") from None
    first, last = ([text.strip() for text in wrong].index(marker) for marker in (START, END))
    markers = [wrong[i].replace("solution", "bug") for i in (first, last)]
    lines = [markers[0], *wrong[first + 1 : last], markers[1]]
    return [*numbered[:first], *((numbered[first][0], text) for text in lines), *numbered[first:]]
