"""The rules every lesson keeps, read off its source before anything runs.

The anatomy, in order: title · goals · setup · recall · sections · train or load · break it · quiz ·
summary · reading. A title cell with `short=true` (lesson 00) excuses a lesson from its length, from
the recall quiz, from break-it, from two exercises and from predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from course_lib.authoring.built import BuiltCell
from course_lib.authoring.cells import CODE, KINDS, MARKDOWN
from course_lib.authoring.offline import remote_address
from course_lib.authoring.problem import LessonError
from course_lib.authoring.source import Cell, Lesson

ORDER = ("title", "goals", "setup", "recall", "break", "quiz", "summary", "reading")
ONCE = ("title", "goals", "setup", "summary", "reading")
NOT_IN_SHORT = ("recall", "break")
FEWEST_CELLS, MOST_CELLS = 40, 70
MOST_CODE_LINES = 25
MOST_CODE_WIDTH = 88  # what a laptop shows beside JupyterLab's file list, without scrolling sideways
FEWEST_EXERCISES = 2
MOST_MINUTES_UNCHECKED = 12


def check_anatomy(lesson: Lesson, learner: list[BuiltCell], solved: list[BuiltCell]) -> list[LessonError]:
    """Every breach of the rules, each with the line to look at."""
    found = [
        *parts_missing_or_repeated(lesson),
        *parts_out_of_order(lesson),
        *opening_slips(lesson),
        *long_silences(lesson),
        *remote_pictures(lesson),
        *long_code([*learner, *solved]),
        *wide_code([*learner, *solved]),
    ]
    if not lesson.short:
        found += [*wrong_length(learner), *too_few_exercises(lesson), *unpredicted(lesson)]
    return [LessonError(lesson.path, line, message) for line, message in dict.fromkeys(found)]


Finding = tuple[int, str]


def required(lesson: Lesson) -> tuple[str, ...]:
    return tuple(kind for kind in ORDER if not (lesson.short and kind in NOT_IN_SHORT))


def parts_missing_or_repeated(lesson: Lesson) -> Iterator[Finding]:
    for kind in required(lesson):
        if not any(cell.kind == kind for cell in lesson.cells):
            yield 1, f"the lesson has no {kind} cell ({KINDS[kind].meaning})"
    for kind in ONCE:
        for again in [cell for cell in lesson.cells if cell.kind == kind][1:]:
            yield again.line, f"there is a {kind} cell already; a lesson has one"


def parts_out_of_order(lesson: Lesson) -> Iterator[Finding]:
    """The parts of the anatomy, where present, in its order; of several quizzes the last one closes."""
    places = []
    for kind in ORDER:
        cells = [cell for cell in lesson.cells if cell.kind == kind]
        if cells:
            places.append(cells[-1] if kind == "quiz" else cells[0])
    for before, after in pairwise(places):
        if after.line < before.line:
            yield (
                after.line,
                f"{after.kind} comes before {before.kind} (line {before.line}); "
                f"the order is {', '.join(ORDER)}",
            )


def opening_slips(lesson: Lesson) -> Iterator[Finding]:
    seen = [cell for cell in lesson.cells if cell.kind != "instructor"]
    if seen and seen[0].kind != "title":
        yield seen[0].line, f"a lesson begins with its title cell, not with {seen[0].kind}"
    for cell in lesson.cells:
        if cell.kind == "title" and not cell.text.startswith("# "):
            yield cell.line, "the title cell begins with a heading: # The question this lesson answers"
    first_code = next((cell for cell in lesson.cells if cell.form == CODE), None)
    if first_code and first_code.kind != "setup":
        yield first_code.line, f"the first code cell is the setup, not {first_code.kind}"


def long_silences(lesson: Lesson) -> Iterator[Finding]:
    """Reading and watching between two places where the learner is told how they stand.

    The minutes of an exercise do not count: its check can be run at any moment.
    """
    last: Cell | None = None
    minutes = 0.0
    for cell in lesson.cells:
        if KINDS[cell.kind].answers_back:
            if last and minutes > MOST_MINUTES_UNCHECKED:
                yield (
                    cell.line,
                    f"{minutes:g} minutes pass between {last.kind} (line {last.line}) "
                    f"and {cell.kind} (line {cell.line}); "
                    f"at most {MOST_MINUTES_UNCHECKED}: put a prediction, a check or a quiz between them",
                )
            last, minutes = cell, 0.0
        elif cell.kind != "exercise":
            last = last or cell
            minutes += cell.minutes


def remote_pictures(lesson: Lesson) -> Iterator[Finding]:
    for cell in lesson.cells:
        if cell.form == MARKDOWN:
            for number, line in zip(cell.lines, cell.text.split("\n"), strict=True):
                if address := remote_address(line):
                    yield (
                        number,
                        f"this would be fetched from the network: {address}; put a file in the repository",
                    )


def long_code(cells: list[BuiltCell]) -> Iterator[Finding]:
    for cell in cells:
        if cell.form == CODE and len(cell.lines) > MOST_CODE_LINES:
            yield (
                cell.line,
                f"the code cell has {len(cell.lines)} lines, at most {MOST_CODE_LINES}; "
                "split it, or move its machinery into course_lib",
            )


def wide_code(cells: list[BuiltCell]) -> Iterator[Finding]:
    for cell in cells:
        if cell.form != CODE:
            continue
        for number, text in zip(cell.lines, cell.text.split("\n"), strict=True):
            if len(text) > MOST_CODE_WIDTH:
                yield (
                    number,
                    f"the line has {len(text)} characters, at most {MOST_CODE_WIDTH}: "
                    "learners would have to scroll",
                )


def wrong_length(learner: list[BuiltCell]) -> Iterator[Finding]:
    if not FEWEST_CELLS <= len(learner) <= MOST_CELLS:
        yield (
            learner[0].line if learner else 1,
            f"the learner's notebook has {len(learner)} cells; a lesson has {FEWEST_CELLS} to {MOST_CELLS}, "
            "or short=true in its title cell",
        )


def too_few_exercises(lesson: Lesson) -> Iterator[Finding]:
    count = sum(cell.kind == "exercise" for cell in lesson.cells)
    if count < FEWEST_EXERCISES:
        yield 1, f"exercises in the lesson: {count}; there must be at least {FEWEST_EXERCISES}"


def unpredicted(lesson: Lesson) -> Iterator[Finding]:
    """Before each explorable a prediction of its own: playing without a question teaches little."""
    predicted = False
    for cell in lesson.cells:
        if cell.kind == "predict":
            predicted = True
        elif cell.kind == "explore":
            if not predicted:
                yield (
                    cell.line,
                    "no prediction comes before this explorable; put a predict cell in front of it",
                )
            predicted = False
