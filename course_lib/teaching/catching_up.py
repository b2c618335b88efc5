"""`catch_up`: everything above a section of a lesson, in one line, for a learner who fell behind.

    catch_up("06", 4)       # everything before section 4 of lesson 06; catch_up("06") runs the whole lesson

The code cells of the stored notebook run in this notebook, without their output. Exercises get the course's
versions, except those that the learner has passed. Nothing is recorded as the learner's own work; training
runs are stored as usual.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.utils.capture import capture_output

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import progress
from course_lib.teaching.contents import FULL, SHORT, Lesson, lessons
from course_lib.teaching.exercises.catalogue import find_exercise
from course_lib.teaching.exercises.exercise import FileExercise
from course_lib.teaching.own_code.kept_functions import choose
from course_lib.teaching.track import FOLDERS, notebook_track

SKIPPED = ("recall", "check", "quiz")
CARDS = ("predict", "estimate", "explain", "explore", "see", "picture")  # the last line only shows something
NUMBERED = re.compile(r"^## (\d+) · .+", re.MULTILINE)


def catch_up(lesson: str | int, section: int | str | None = None) -> None:
    """Run everything before a numbered section of lesson "06"; without a section, the whole lesson."""
    chosen = _find_lesson(lesson)
    file, headings, cells = _read_notebook(chosen)
    if section is not None and str(section) not in headings:
        choices = ", ".join(headings) or "none"
        raise ValueError(
            f"Lesson {chosen.number} has no section {section!r} in this notebook's track. Its numbered "
            f'sections are: {choices}. catch_up("{chosen.number}") runs the whole lesson.'
        )
    end, title = headings[str(section)] if section is not None else (len(cells), "")
    code = [cell for cell in cells[:end] if cell["cell_type"] == "code" and _kind(cell) not in ("", *SKIPPED)]
    if any(_kind(cell) == "train" for cell in code):
        print("This includes a training run, so it may take a minute.")
    own, ours = _run(code, file)
    print(_summary(chosen, title, own, ours))


def _find_lesson(name: str | int) -> Lesson:
    key = f"{name!s:0>2}" if name != "" else ""
    for lesson in lessons():
        if key in (lesson.number, lesson.topic):
            return lesson
    numbers = [lesson.number for lesson in lessons()]
    raise ValueError(
        f'There is no lesson {name!r}. Give a number from "{numbers[0]}" to "{numbers[-1]}", '
        'as in catch_up("06", 4).'
    )


def _read_notebook(lesson: Lesson) -> tuple[Path, dict[str, tuple[int, str]], list[dict]]:
    """The stored notebook of this track: its file, where its numbered sections start, and its cells."""
    # Before the lesson has started, only the folder shows which notebook this is: Jupyter runs it there.
    track = SHORT if Path.cwd().name == SHORT else notebook_track()
    file = PROJECT_ROOT / "notebooks" / FOLDERS[FULL][track] / lesson.notebook
    headings = {}
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        for position, cell in enumerate(cells):
            source, _ = "".join(cell["source"]), _kind(cell)
            found = NUMBERED.search(source) if cell["cell_type"] == "markdown" else None
            if found:
                headings[found[1]] = position, found[0].removeprefix("## ")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        name = file.relative_to(PROJECT_ROOT).as_posix()
        raise ValueError(
            f"The notebook {name} is missing or damaged ({type(error).__name__}: {error}). Move it elsewhere "
            f"if you want to keep it, run `git checkout -- {name}` in the course folder to restore it, and "
            "call catch_up again."
        ) from None
    return file, headings, cells


def _kind(cell: dict) -> str:
    """Empty for a cell that the learner has added."""
    return cell["metadata"].get("course", {}).get("kind", "")


def _run(cells: list[dict], file: Path) -> tuple[list[str], list[str]]:
    """Run the cells; returns the exercises with the learner's own version, and those with the course's."""
    shell = get_ipython()
    namespace = shell.user_ns if shell else vars(sys.modules["__main__"])
    own, ours = [], []
    for number, cell in enumerate(cells, 1):
        name = cell["metadata"]["course"].get("exercise")
        try:
            with progress.not_recorded(), capture_output():
                run_cell(
                    "".join(cell["source"]), _kind(cell), f"<{file.stem}, code cell {number}>", namespace
                )
        except Exception as error:
            if not name:  # a learner's unfinished answer doesn't matter
                error.add_note(
                    f"The error was raised by a cell of {file.relative_to(PROJECT_ROOT)}. If you have "
                    "changed that cell, undo the change, save the notebook and call catch_up again."
                )
                raise
        if name and not isinstance(exercise := find_exercise(name), FileExercise):
            function = choose(exercise)[0]
            (own if function else ours).append(name)
            namespace[name] = function or exercise.reference
    return own, ours


def run_cell(source: str, kind: str, label: str, namespace: dict[str, Any]) -> None:
    """Run the code of a cell. Python and `check` can find its source under the label."""
    tree = ast.parse(source, label)
    if kind in CARDS and isinstance(tree.body[-1], ast.Expr):
        tree.body.pop()
    linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)
    exec(compile(tree, label, "exec"), namespace)


def _summary(lesson: Lesson, title: str, own: list[str], ours: list[str]) -> str:
    ready = f"is ready for section {title}" if title else "has run to its end"
    versions = []
    if ours:
        versions.append(f"the course's version of {', '.join(ours)}")
    if own:
        versions.append(f"your own version of {', '.join(own)}")
    using = f", with {' and '.join(versions)}" if versions else ""
    advice = "Continue there; you can solve the exercises above later." if title else ""
    return f"Lesson {lesson.number} {ready}{using}. {advice}".rstrip()
