"""The rules every lesson keeps, read off its cells before anything runs; docs/writing_a_lesson.md lists them.

    notebooks/source/08_query_key_value/lesson.py:340: no prediction comes before this explorable; ...

A title cell with `short=true` (lesson 00) excuses a lesson from its length and from much of the learner's
work.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from course_lib.authoring.editions import Draft
from course_lib.authoring.glossary import misspelt_terms
from course_lib.authoring.kinds import CODE, KINDS, MARKDOWN
from course_lib.authoring.outputs import remote_address
from course_lib.authoring.source import Cell, LessonError

ORDER = ("title", "goals", "setup", "recall", "break", "quiz", "summary", "reading")
ONCE = ("title", "goals", "setup", "summary", "reading")
NOT_IN_SHORT = ("recall", "break")
FEWEST_CELLS, MOST_CELLS = 40, 70
MOST_CODE_LINES = 25
MOST_CODE_WIDTH = 88  # what a laptop shows beside JupyterLab's file list, without scrolling sideways
MOST_MINUTES_UNCHECKED = 12
LONG_BUILD = 15
TELLING_LINE = 25  # a shorter line of a solution, such as `return weights`, gives nothing away


def breaches(draft: Draft) -> list[LessonError]:
    """Every breach of the rules, each with the line to look at."""
    cells, short = draft.lesson.cells, draft.lesson.switch("short", False)
    found = [*anatomy(cells, short), *silences(cells), *misspelt_terms(draft.lesson), *remote_pictures(cells)]
    found += code_layout([*draft.cells["learner"], *draft.cells["solved"]])
    if not short:
        found += [*length(draft), *unpredicted(cells), *mixture(draft), *given_away(draft)]
    return list({str(problem): problem for problem in found}.values())


def anatomy(cells: tuple[Cell, ...], short: bool) -> Iterator[LessonError]:
    """The parts of a lesson: all there, those of `ONCE` once, in order; the last quiz closes."""
    places = []
    for kind in ORDER:
        of_kind = [cell for cell in cells if cell.kind == kind]
        if of_kind:
            places.append(of_kind[-1 if kind == "quiz" else 0])
        elif not (short and kind in NOT_IN_SHORT):
            yield LessonError(1, f"the lesson has no {kind} cell ({KINDS[kind].meaning})")
        for again in of_kind[1:] if kind in ONCE else []:
            yield LessonError(again.line, f"there is a {kind} cell already; a lesson has one")
    for before, after in pairwise(places):
        if after.line < before.line:
            where = f"{before.kind} (line {before.line})"
            yield LessonError(
                after.line, f"{after.kind} comes before {where}; the order is {', '.join(ORDER)}"
            )
    for cell in cells:
        if cell.kind == "title" and not cell.text.startswith("# "):
            yield LessonError(cell.line, "the title cell begins with a heading: # The question it answers")
    first_code = next((cell for cell in cells if cell.form == CODE), None)
    if first_code and first_code.kind != "setup":
        yield LessonError(first_code.line, f"the first code cell is the setup, not {first_code.kind}")


def silences(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    """Reading and watching between two places where the learner is told how they stand.

    The minutes of an exercise do not count: its check can be run at any moment.
    """
    last, minutes = cells[0] if cells else None, 0.0
    for cell in cells:
        if KINDS[cell.kind].answers_back:
            if minutes > MOST_MINUTES_UNCHECKED:
                between = f"{last.kind} (line {last.line}) and {cell.kind} (line {cell.line})"
                remedy = f"at most {MOST_MINUTES_UNCHECKED}: put a prediction, a check or a quiz between them"
                yield LessonError(cell.line, f"{minutes:g} minutes pass between {between}; {remedy}")
            last, minutes = cell, 0.0
        elif cell.kind != "exercise":
            minutes += cell.minutes


def remote_pictures(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    for cell in cells:
        for number, line in cell.numbered_lines() if cell.form == MARKDOWN else []:
            if address := remote_address(line):
                remedy = "put a file in the repository"
                yield LessonError(number, f"this would be fetched from the network: {address}; {remedy}")


def code_layout(cells: list[Cell]) -> Iterator[LessonError]:
    for cell in cells:
        if cell.form == CODE and len(cell.lines) > MOST_CODE_LINES:
            remedy = "split it, or move its machinery into course_lib"
            size = f"{len(cell.lines)} lines, at most {MOST_CODE_LINES}"
            yield LessonError(cell.line, f"the code cell has {size}; {remedy}")
        for number, line in cell.numbered_lines() if cell.form == CODE else []:
            if len(line) > MOST_CODE_WIDTH:
                size = f"{len(line)} characters, at most {MOST_CODE_WIDTH}"
                yield LessonError(number, f"the line has {size}: learners would have to scroll")


def length(draft: Draft) -> Iterator[LessonError]:
    count = len(draft.cells["learner"])
    if not FEWEST_CELLS <= count <= MOST_CELLS:
        wanted = f"a lesson has {FEWEST_CELLS} to {MOST_CELLS}, or short=true in its title cell"
        yield LessonError(1, f"the learner's notebook has {count} cells; {wanted}")
    if (count := sum(cell.kind == "exercise" for cell in draft.lesson.cells)) < 2:
        yield LessonError(1, f"exercises in the lesson: {count}; there must be at least 2")


def unpredicted(cells: tuple[Cell, ...]) -> Iterator[LessonError]:
    """Before each explorable a prediction of its own: playing without a question teaches little."""
    asked = [cell for cell in cells if cell.kind in ("predict", "explore")]
    for before, cell in pairwise([None, *asked]):
        if cell.kind == "explore" and (before is None or before.kind == "explore"):
            remedy = "put a predict cell in front of it"
            yield LessonError(cell.line, f"no prediction comes before this explorable; {remedy}")


def mixture(draft: Draft) -> Iterator[LessonError]:
    """A mix of what the learner does, and enough of it."""
    cells = draft.lesson.cells
    long = [each for each in draft.exercises if each.mode == "build" and each.solved.minutes >= LONG_BUILD]
    if not long:
        yield LessonError(1, f"the lesson has no build exercise of {LONG_BUILD} minutes or more")
    if not any(each.mode == "bug" for each in draft.exercises):
        yield LessonError(1, 'the lesson has no exercise with mode="bug"')
    for kind in ("estimate", "explain"):
        if not any(cell.kind == kind for cell in cells):
            yield LessonError(1, f"the lesson has no {kind} cell ({KINDS[kind].meaning})")
    work = sum(cell.minutes for cell in cells if cell.kind == "exercise" or KINDS[cell.kind].answers_back)
    if 3 * work < draft.lesson.minutes:
        share = f"{work:g} of the lesson's {draft.lesson.minutes:g} minutes"
        yield LessonError(1, f"the learner works {share} (exercises and ✓ cells); at least a third")


def given_away(draft: Draft) -> Iterator[LessonError]:
    """No telling line of a solution stands in a code cell above its exercise."""
    above: dict[str, int] = {}
    by_name = {exercise.name: exercise for exercise in draft.exercises}
    for cell in draft.cells["learner"]:
        if cell.kind == "exercise":
            for number, line in by_name[cell.options["exercise"]].solution:
                if line.strip() in above:
                    where = f"the code cell of line {above[line.strip()]}"
                    yield LessonError(
                        number, f"this line of the solution stands above the exercise, in {where}"
                    )
        lines = [line.strip() for line in cell.text.split("\n")] if cell.form == CODE else []
        above |= {line: cell.line for line in lines if len(line) > TELLING_LINE and line not in above}
