"""Take the solution out of an exercise cell: one text for the learner, one solved.

def scale(scores, d_k):            def scale(scores, d_k):
    # solution                         raise NotImplementedError("Your turn")
    return scores / d_k**0.5
    # end solution
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from course_lib.authoring.problem import LessonError
from course_lib.authoring.source import Cell

START, END = "# solution", "# end solution"
LIKE_A_MARKER = re.compile(r"#\s*(end|begin|start)?[\s_-]*solution\s*:?", re.IGNORECASE)
YOUR_TURN = 'raise NotImplementedError("Your turn")'


@dataclass(frozen=True)
class Passage:
    """Code that remembers where it came from: `lines[i]` is the line of the file of text line i."""

    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Stub:
    """An exercise cell as the learner gets it, and as it is solved."""

    unsolved: Passage
    solved: Passage


def is_marker(line: str) -> bool:
    """Whether a line is a solution marker, or looks so much like one that it must be meant."""
    return LIKE_A_MARKER.fullmatch(line.strip()) is not None


def split_solution(path: str, cell: Cell) -> Stub:
    """Split an exercise cell at its markers; a slip in them is raised with its line."""
    text = cell.text.split("\n")
    regions = find_regions(path, cell)
    if not regions:
        raise LessonError(
            path, cell.line, f"the exercise has no solution; put it between `{START}` and `{END}`"
        )
    unsolved, solved, at = [], [], 0
    for start, end in regions:
        before = range(at, start)
        unsolved += [(text[i], i) for i in before] + [(indent_of(text[start]) + YOUR_TURN, start)]
        solved += [(text[i], i) for i in (*before, *range(start + 1, end))]
        at = end + 1
    rest = [(text[i], i) for i in range(at, len(text))]
    stub = Stub(passage(cell, unsolved + rest), passage(cell, solved + rest))
    check_stub(path, stub.unsolved)
    return stub


def find_regions(path: str, cell: Cell) -> list[tuple[int, int]]:
    """Where each pair of markers stands, as indices into the cell's lines."""
    text, regions, start = cell.text.split("\n"), [], None
    for at, line in enumerate(text):
        number, marker = cell.lines[at], line.strip()
        if not is_marker(line):
            if start is not None and marker and not line.startswith(indent_of(text[start])):
                raise LessonError(path, number, f"this line of the solution stands left of its `{START}`")
        elif marker not in (START, END):
            raise LessonError(path, number, f"write the marker as `{START}` or `{END}`, not `{marker}`")
        elif marker == START:
            if start is not None:
                raise LessonError(
                    path,
                    number,
                    f"`{START}` inside the solution of line {cell.lines[start]}; end that one first",
                )
            start = at
        else:
            if start is None:
                raise LessonError(path, number, f"`{END}` without a `{START}` before it")
            if indent_of(line) != indent_of(text[start]):
                raise LessonError(path, number, f"`{END}` is not indented like its `{START}`")
            if not "".join(text[start + 1 : at]).strip():
                raise LessonError(path, number, "the solution is empty; write it between the markers")
            regions.append((start, at))
            start = None
    if start is not None:
        raise LessonError(path, cell.lines[start], f"`{START}` without an `{END}` after it")
    return regions


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def passage(cell: Cell, pairs: list[tuple[str, int]]) -> Passage:
    return Passage("\n".join(text for text, _ in pairs), tuple(cell.lines[at] for _, at in pairs))


def check_stub(path: str, stub: Passage) -> None:
    """The learner's stub must be Python, and must not raise until its function is called."""
    try:
        tree = ast.parse(stub.text)
    except SyntaxError as error:
        line = stub.lines[min(error.lineno or 1, len(stub.lines)) - 1]
        raise LessonError(path, line, f"without the solution this is not Python: {error.msg}") from None
    functions = [
        range(node.lineno, node.end_lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for at, line in enumerate(stub.text.split("\n"), 1):
        if line.strip() == YOUR_TURN and not any(at in lines for lines in functions):
            raise LessonError(
                path,
                stub.lines[at - 1],
                "a solution outside a function stops the unsolved notebook; put it in one",
            )
