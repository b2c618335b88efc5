"""The rules for every lesson, checked before anything runs; docs/writing_a_lesson.md lists them.

    lessons/l08_query_key_value/lesson.py:340: no prediction comes before this explorable; ...

With `introduction=true` in its title cell (lesson 00), a lesson needs no recall, predictions and exercises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tools.authoring.cell_kinds import CODE, KINDS, LEARNER, MARKDOWN, SHORT, SOLVED, STRETCH
from tools.authoring.editions import LessonDraft
from tools.authoring.glossary import misspelt_terms
from tools.authoring.lesson import LessonSource
from tools.authoring.outputs import FETCHED
from tools.authoring.printed import misspelt_numbers
from tools.authoring.source import CORE_LINE, Cell, LessonError
from tools.authoring.tracks import LEFT_OUT, heading, track_problems

ORDER = ("title", "setup", "recall", "quiz", "summary", "reading")
GOALS = ("title", "goals", "recall")  # the goals may follow the first picture, which the setup shows
NOT_IN_INTRODUCTION = ("recall",)
MOST_CODE_LINES = 25
MOST_CODE_WIDTH = 88  # what a laptop shows beside JupyterLab's file list, without scrolling sideways
MOST_MINUTES_UNCHECKED = 15
MOST_STRETCH = 1 / 4  # of the core minutes
SECTION = re.compile(r"\b[Ss]ection (\d+)(?![\d.]*\d| of )")  # of this lesson
REVEALING_LENGTH = 25  # a shorter line of a solution, such as `return weights`, reveals nothing


def breaches(draft: LessonDraft) -> list[LessonError]:
    """Every breach of the rules, with its line."""
    cells, introduction = draft.lesson.cells, draft.lesson.introduction
    problems = [*missing_parts(cells, introduction), *long_gaps(cells), *misspelt_terms(cells)]
    problems += [*missing_question(draft.lesson)]
    problems += [*remote_pictures(cells), *misspelt_numbers(cells), *repeated_names(cells)]
    problems += [*too_much_stretch(cells), *track_problems(cells), *skipped_sections(draft.cells[SHORT])]
    problems += code_layout([*draft.cells[LEARNER], *draft.cells[SOLVED]])
    if not introduction:
        problems += [*unpredicted(cells), *nothing_built(cells), *revealed_solutions(draft)]
    return sorted({str(problem): problem for problem in problems}.values(), key=lambda problem: problem.line)


def missing_parts(cells: tuple[Cell, ...], introduction: bool) -> Iterator[LessonError]:
    for order in (ORDER, GOALS):
        yield from out_of_order(cells, order, introduction)


def out_of_order(
    cells: tuple[Cell, ...], order: tuple[str, ...], introduction: bool
) -> Iterator[LessonError]:
    """Parts of a lesson that are missing or in the wrong order; of several quizzes the last one counts."""
    parts = []
    for kind in order:
        of_kind = [cell for cell in cells if cell.kind == kind]
        if of_kind:
            parts.append(of_kind[-1 if kind == "quiz" else 0])
        elif not (introduction and kind in NOT_IN_INTRODUCTION):
            yield missing(kind)
    for before, after in pairwise(parts):
        if after.line < before.line:
            found = f"{after.kind} comes before {before.kind} (line {before.line})"
            yield LessonError(after.line, f"{found}; the required order is {', '.join(order)}")


def missing_question(lesson: LessonSource) -> Iterator[LessonError]:
    """The table of lessons says what each lesson answers."""
    for cell in lesson.cells:
        if cell.kind == "title" and not lesson.question.endswith("?"):
            yield LessonError(cell.line, "the title asks no question; add a line **The question:** how …?")


def skipped_sections(cells: list[Cell]) -> Iterator[LessonError]:
    """References in the short edition to numbered sections that it leaves out."""
    texts = [cell for cell in cells if cell.form == MARKDOWN and cell.kind not in (LEFT_OUT, "reading")]
    numbers = {match[1] for cell in texts if (match := re.match(r"(\d+) ·", heading(cell)))}
    for cell in texts:
        for match in SECTION.finditer(cell.text):
            if match[1] not in numbers:
                message = f"the short track has no section {match[1]}; mark this line with {CORE_LINE}"
                yield LessonError(cell.line_at(match.start()), f"{message} or say what it contains")


def missing(kind: str) -> LessonError:
    return LessonError(1, f"the lesson has no {kind} cell ({KINDS[kind].meaning})")


def long_gaps(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    """Too many minutes between two cells that give the learner feedback.

    The minutes of an exercise do not count, because its check can be run at any time.
    """
    minutes = 0.0
    for cell in cells:
        if KINDS[cell.kind].gives_feedback:
            if minutes > MOST_MINUTES_UNCHECKED:
                remedy = f"the limit is {MOST_MINUTES_UNCHECKED}; add a prediction, a check or a quiz between"
                message = f"{minutes:g} minutes pass between the last ✓ cell and this {cell.kind}; {remedy}"
                yield LessonError(cell.line, message)
            minutes = 0.0
        elif cell.kind != "exercise":
            minutes += cell.minutes


def repeated_names(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    """Names (by which prose quotes a cell's numbers) that are not on code cells, or not unique."""
    first: dict[str, int] = {}
    for cell in (cell for cell in cells if "name" in cell.options):
        name = cell.options["name"]
        if cell.form != CODE:
            yield LessonError(cell.line, f"a Markdown cell prints nothing, so it can't use the name {name!r}")
        elif first.setdefault(name, cell.line) != cell.line:
            yield LessonError(cell.line, f"the cell on line {first[name]} is already called {name!r}")


def remote_pictures(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    for cell in cells:
        for match in FETCHED.finditer(cell.text) if cell.form == MARKDOWN else []:
            message = f"this would be fetched from the network: {match['address']}"
            yield LessonError(
                cell.line_at(match.start()), f"{message}; put the file in the repository instead"
            )


def code_layout(cells: list[Cell]) -> Iterator[LessonError]:
    for cell in cells:
        lines = cell.numbered_lines() if cell.form == CODE else []
        if len(lines) > MOST_CODE_LINES:
            remedy = "split it, or move part of it to a module of the lesson"
            size = f"{len(lines)} lines, but the limit is {MOST_CODE_LINES}"
            yield LessonError(cell.line, f"the code cell has {size}; {remedy}")
        for number, line in lines:
            if len(line) > MOST_CODE_WIDTH:
                size = f"{len(line)} characters, but the limit is {MOST_CODE_WIDTH}"
                yield LessonError(number, f"the line has {size}, beyond which learners have to scroll")


def unpredicted(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    """Explorables without a prediction of their own: exploring without a question teaches little."""
    predicted = False
    for cell in cells:
        if cell.kind == "explore" and not predicted:
            remedy = "add a predict cell before it"
            yield LessonError(cell.line, f"no prediction comes before this explorable; {remedy}")
        if cell.kind in ("predict", "explore"):
            predicted = cell.kind == "predict"


def nothing_built(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    if "build" not in [cell.options.get("mode", "build") for cell in cells if cell.kind == "exercise"]:
        yield LessonError(1, 'the lesson has no exercise with mode="build"')


def too_much_stretch(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    stretch = sum(cell.minutes for cell in cells if cell.track == STRETCH)
    core = sum(cell.minutes for cell in cells) - stretch
    if stretch > MOST_STRETCH * core:
        size = f"{stretch:.0f} minutes of stretch and {core:.0f} of core"
        yield LessonError(1, f"the lesson has {size}; the limit for stretch is a quarter of core")


def revealed_solutions(draft: LessonDraft) -> Iterator[LessonError]:
    """Lines of a solution that are in a code cell above its exercise."""
    solved = {cell.line: cell for cell in draft.cells[SOLVED] if cell.kind == "exercise"}
    above: dict[str, int] = {}  # every line of code so far, with the line of its cell
    for cell in draft.cells[LEARNER]:
        for number, line in solved[cell.line].numbered_lines() if cell.kind == "exercise" else []:
            if number not in cell.lines and len(line.strip()) > REVEALING_LENGTH and line.strip() in above:
                source = f"in the code cell on line {above[line.strip()]}"
                yield LessonError(
                    number, f"this line of the solution already appears above the exercise, {source}"
                )
        if cell.form == CODE:
            above |= {line.strip(): cell.line for line in cell.text.split("\n")}
