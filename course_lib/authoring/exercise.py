"""Gather an exercise from its cells: task (optional), exercise, check, hints, one after the other.

A card, a stub, a check, hints and a solution are made from this one place, so they cannot disagree.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from course_lib.authoring.cells import CODE
from course_lib.authoring.hints import Hint, split_hints
from course_lib.authoring.problem import LessonError
from course_lib.authoring.source import Cell, Lesson
from course_lib.authoring.stub import Stub, is_marker, split_solution


@dataclass(frozen=True)
class Exercise:
    """One exercise with everything that belongs to it. `number` counts within the lesson, from 1."""

    number: int
    name: str
    title: str
    difficulty: int
    importance: int
    minutes: float
    track: str
    code: Cell
    stub: Stub
    check: Cell
    hints_cell: Cell
    hints: tuple[Hint, ...]
    task: Cell | None = None


Step = Cell | Exercise


def gather_steps(lesson: Lesson) -> tuple[list[Step], list[LessonError]]:
    """The lesson as plain cells and whole exercises, in order, and every problem met on the way."""
    steps: list[Step] = []
    problems: list[LessonError] = []
    seen: dict[str, int] = {}
    cells, at, number = lesson.cells, 0, 0
    while at < len(cells):
        cell, rest = cells[at], cells[at + 1 :]
        at += 1
        try:
            if cell.kind == "exercise":
                number += 1
                name = cell.options["exercise"]
                if name in seen:
                    raise LessonError(
                        lesson.path,
                        cell.line,
                        f"the exercise {name!r} is there already, on line {seen[name]}",
                    )
                seen[name] = cell.line
                task = steps.pop() if steps and is_task(steps[-1], name) else None
                check, hints = companions(lesson.path, cell, rest)
                at += 2
                steps.append(exercise(lesson.path, number, cell, check, hints, task))
            elif cell.kind in ("check", "hints"):
                raise LessonError(
                    lesson.path,
                    cell.line,
                    f"this {cell.kind} cell stands alone; the order is exercise, check, hints",
                )
            else:
                check_plain(lesson.path, cell, rest)
                steps.append(cell)
        except LessonError as problem:
            problems.append(problem)
            if cell.kind == "exercise":  # its check and hints are not strays: one slip, one message
                while at < len(cells) and cells[at].kind in ("check", "hints"):
                    at += 1
    return steps, problems


def is_task(step: Step, name: str) -> bool:
    return isinstance(step, Cell) and step.kind == "text" and step.options.get("exercise") == name


def check_plain(path: str, cell: Cell, rest: tuple[Cell, ...]) -> None:
    """A cell outside an exercise holds no solution; a task's text stands right before its exercise."""
    if name := cell.options.get("exercise"):
        following = rest[0] if rest else None
        if following is None or following.kind != "exercise" or following.options["exercise"] != name:
            raise LessonError(
                path, cell.line, f"this text belongs to the exercise {name!r}, which must come next"
            )
    if cell.form == CODE:
        for number, line in zip(cell.lines, cell.text.split("\n"), strict=True):
            if is_marker(line):
                raise LessonError(path, number, "a solution marker stands only in an exercise cell")


def companions(path: str, cell: Cell, rest: tuple[Cell, ...]) -> tuple[Cell, Cell]:
    """The check and the hints that follow an exercise."""
    name = cell.options["exercise"]
    if not rest or rest[0].kind != "check":
        raise LessonError(
            path, cell.line, f"the exercise {name!r} has no check; the next cell must be its check"
        )
    if len(rest) < 2 or rest[1].kind != "hints":
        raise LessonError(
            path, cell.line, f"the exercise {name!r} has no hints; the cell after its check must be its hints"
        )
    check, hints = rest[0], rest[1]
    for companion in (check, hints):
        other = companion.options.get("exercise", name)
        if other != name:
            raise LessonError(
                path,
                companion.line,
                f"this {companion.kind} cell is for the exercise {other!r}, not {name!r}",
            )
    called = checked_names(check.text)
    if not called:
        raise LessonError(path, check.line, f'the check cell does not call check("{name}", ...)')
    for other, line in called:
        if other != name:
            raise LessonError(
                path, check.lines[line - 1], f"the check names the exercise {other!r}, not {name!r}"
            )
    return check, hints


def checked_names(code: str) -> list[tuple[str, int]]:
    """The first argument of every `check("name", ...)` call, with its line within the cell."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and node.args]
    return [
        (call.args[0].value, call.lineno)
        for call in calls
        if (isinstance(call.func, ast.Name) and call.func.id == "check")
        or (isinstance(call.func, ast.Attribute) and call.func.attr == "check")
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    ]


def exercise(path: str, number: int, cell: Cell, check: Cell, hints: Cell, task: Cell | None) -> Exercise:
    return Exercise(
        number=number,
        name=cell.options["exercise"],
        title=cell.options["title"],
        difficulty=cell.options["difficulty"],
        importance=cell.options["importance"],
        minutes=cell.options["minutes"],
        track=cell.options["track"],
        code=cell,
        stub=split_solution(path, cell),
        check=check,
        hints_cell=hints,
        hints=split_hints(path, hints),
        task=task,
    )
