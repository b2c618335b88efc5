"""`course_lib build`: every lesson source into its notebooks, or a look whether the stored ones are fresh.

>>> build_all(["08"])                  # the learner's, solved and instructor's notebook of lesson 08
>>> build_all([], check=True)          # are all stored notebooks what their sources say?
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from course_lib.results import UnknownResult, fill
from course_lib.runtime import PROJECT_ROOT, data_path, program_name, write_atomically
from tools.authoring.cell_kinds import CODE, MARKDOWN
from tools.authoring.editions import LessonDraft, as_text, assemble, from_text
from tools.authoring.glossary import defined_twice, glossary_page, used_too_early
from tools.authoring.imports import Code, wrong_imports
from tools.authoring.outputs import check_outputs, outdated
from tools.authoring.rules import breaches
from tools.authoring.source import LessonError, LessonSource, read_lesson, sources

SIDE_BY_SIDE = 2  # kernels at once: each takes a core and, with torch, some 300 MB
RUNS = [["learner"], ["solved", "instructor"]]  # the last two differ in prose alone: one run serves both


def draft(path: Path, root: Path) -> LessonDraft:
    """Read one source; the first slip in it is raised."""
    return assemble(read_lesson(path, root))


def target(root: Path, made: LessonDraft, edition: str) -> Path:
    """Where an edition is stored: the learner's beside its fellows, the others under build/."""
    folder = root / "notebooks" if edition == "learner" else root / "build" / edition
    return folder / f"{made.lesson.name}.ipynb"


def build_all(names: Sequence[str], check: bool = False, *, root: Path = PROJECT_ROOT) -> int:
    """Build the lessons named by number or topic (all where none is named); 0 when all is well.

    With `check` nothing is run or written: the stored learner's notebooks are compared with their
    sources. Every problem of every lesson is printed, with file and line.
    """
    start, every = time.perf_counter(), sources(root)
    chosen, complaints = choose(every, names)
    complaints += without_source(root)
    lessons, wanted, code = [], [], Code(root)
    for path in every:  # all of them, for the glossary
        try:
            made = draft(path, root)
            lessons.append(made.lesson)
            slips = breaches(made)
        except LessonError as problem:
            slips = [problem]
        if path in chosen:
            wrong = wrong_imports(code, path.parent.name)
            complaints += wrong
            complaints += [slip.at(path.relative_to(root).as_posix()) for slip in slips]
            quiz = path.with_name("quiz.json")
            asked = quiz_problems(quiz, root) or (
                unknown_sections(made.lesson, quiz, root) if not slips else []
            )
            complaints += asked
            wanted += [made] if not slips and not wrong and not asked else []
    twice = defined_twice(lessons)
    complaints += twice
    page = glossary_page(lessons) if len(lessons) == len(every) > 0 and not twice else None
    if check:
        complaints += [text for made in wanted for text in staleness(root, made)]
        if not names:
            complaints += used_too_early(lessons)
            complaints += stale_glossary(root, page) if page else []
        done = f"lessons looked at: {len(chosen)}"
    else:
        written, problems = asyncio.run(build_drafts(root, wanted))
        complaints += problems
        if page:
            write_atomically(root / "docs" / "glossary.md", page)
        done = f"notebooks built: {written}, in {time.perf_counter() - start:.1f} s"
    for text in complaints:
        print(text, file=sys.stderr)
    print(f"{done}; problems: {len(complaints)}" if complaints else f"{done}; all well")
    return 1 if complaints else 0


def without_source(root: Path) -> list[str]:
    """Every lesson folder in which there is no lesson.py."""
    folders = sorted((root / "lessons").glob("l[0-9][0-9]_*/"))
    sources = [folder / "lesson.py" for folder in folders]
    lacking = [path.relative_to(root).as_posix() for path in sources if not path.exists()]
    return [f"{path}:1: the file is missing; every lesson folder has one" for path in lacking]


def choose(every: list[Path], names: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The sources called "08", "8", "query_key_value" or "08_query_key_value"; all of them for no name."""
    chosen, complaints = [] if names else every, []
    for name in names:
        wanted = f"{name:0>2}" if name.isdecimal() else name
        folders = {path: path.parent.name[1:] for path in every}
        found = [path for path, folder in folders.items() if wanted in (folder[:2], folder[3:], folder)]
        chosen += found
        if not found:
            complaints.append(f"There is no lesson {name!r}. There are: {', '.join(folders.values())}.")
    return list(dict.fromkeys(chosen)), complaints


def quiz_problems(path: Path, root: Path) -> list[str]:
    """What is wrong with a lesson's quiz.json, if it has one, by data/quiz.schema.json."""
    from jsonschema import Draft202012Validator  # it takes a while to load

    if not path.exists():
        return []
    schema = json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    text, where = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
    try:
        content = fill(text)
    except UnknownResult as error:
        return [f"{where}:{line_of(text, error.offset)}: {error}"]
    if (printed := text.find("{printed:")) >= 0:
        return [
            f"{where}:{line_of(text, printed)}: a quiz can't quote a printed number; record it as a result"
        ]
    try:
        errors = Draft202012Validator(schema).iter_errors(json.loads(content))
        found = [f"{error.json_path}: {error.message}" for error in errors]
    except ValueError as error:
        found = [f"this is not JSON: {error}"]
    return [f"{where}: {problem}" for problem in found]


def unknown_sections(lesson: LessonSource, quiz: Path, root: Path) -> list[str]:
    """Each section that a question says to read again, and that the lesson does not have."""
    if not quiz.exists():
        return []
    prose = "\n".join(cell.text for cell in lesson.cells if cell.form == MARKDOWN)
    headings = set(re.findall(r"^## (.+)$", re.sub(r"[*`$]", "", prose), re.MULTILINE))
    text, where = quiz.read_text(encoding="utf-8"), quiz.relative_to(root).as_posix()
    return [
        f"{where}:{line_of(text, found.start())}: the lesson has no section {title!r} to read again"
        for found in re.finditer(r'"reread": ("(?:[^"\\]|\\.)+")', text)
        if (title := json.loads(found[1])) not in headings
    ]


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


# ---- building


async def build_drafts(root: Path, drafts: list[LessonDraft]) -> tuple[int, list[str]]:
    """Run and store every edition, a few kernels at a time: how many were written, and what went wrong."""
    gate = asyncio.Semaphore(SIDE_BY_SIDE)
    jobs = [build_editions(root, made, run, gate) for made in drafts for run in RUNS]
    results = await asyncio.gather(*jobs)
    return sum(count for count, _ in results), [text for _, problems in results for text in problems]


async def build_editions(
    root: Path, made: LessonDraft, editions: list[str], gate: asyncio.Semaphore
) -> tuple[int, list[str]]:
    """Run one notebook and store it in the editions that share its code cells."""
    from tools.authoring.execute import execute  # Jupyter's imports take two seconds; a check needs none

    async with gate:
        start = time.perf_counter()
        try:
            outputs = await execute(made, editions[0], root / "notebooks")
        except LessonError as problem:
            return 0, [f"{problem.at(made.lesson.path)} [{editions[0]}]"]
        seconds = time.perf_counter() - start
    for edition in editions:
        try:
            notebook = made.notebook(edition, outputs)
        except LessonError as problem:  # a printed number that no cell prints
            return 0, [f"{problem.at(made.lesson.path)} [{edition}]"]
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == CODE]
        for count, (cell, shown) in enumerate(zip(code, outputs, strict=True), 1):
            cell |= {"outputs": shown, "execution_count": count}
        if problems := check_outputs(made.cells[edition], notebook):
            return 0, [f"{problem.at(made.lesson.path)} [{edition}]" for problem in problems]
        path, text = target(root, made, edition), as_text(notebook)
        write_atomically(path, text)
        size = f"{len(notebook['cells']):3} cells, {len(code):2} code, {made.lesson.minutes:g} min"
        size += f", {len(text.encode()) // 1000} kB, run in {seconds:.1f} s"
        print(f"{path.relative_to(root).as_posix():50} {size}", flush=True)
    return len(editions), []


# ---- checking


def staleness(root: Path, made: LessonDraft) -> list[str]:
    """What is wrong with a lesson's stored learner's notebook, and what to run; empty where it is fresh."""
    path = target(root, made, "learner")
    try:
        stored = from_text(path.read_text(encoding="utf-8"))
        if inputs(stored) != inputs(with_stored_numbers(made, stored)):
            problems = [f"stale: it is not what {made.lesson.path} makes"]
        else:
            cells = made.cells["learner"]
            found = [*check_outputs(cells, stored), *outdated(cells, stored)]
            problems = [f"{problem.message} (source line {problem.line})" for problem in found]
    except FileNotFoundError:
        problems = ["not built yet"]
    except LessonError as problem:
        problems = [f"{problem.message} (source line {problem.line})"]
    except (ValueError, KeyError, TypeError):  # a merge conflict in it, for example
        problems = ["this is not a notebook we wrote"]
    remedy = f"run `{program_name()} build {made.lesson.number}`"
    return [f"{path.relative_to(root).as_posix()}: {problem}; {remedy}" for problem in problems]


def with_stored_numbers(made: LessonDraft, stored: dict) -> dict:
    """The learner's notebook as its source makes it, with the printed numbers of the stored one."""
    outputs = [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == CODE]
    n_code = sum(cell.form == CODE for cell in made.cells["learner"])
    return made.notebook("learner", outputs if len(outputs) == n_code else None)


def inputs(notebook: dict) -> dict:
    """A notebook without what running it added."""
    ran = ("outputs", "execution_count")
    cells = [{key: cell[key] for key in cell if key not in ran} for cell in notebook["cells"]]
    return notebook | {"cells": cells}


def stale_glossary(root: Path, page: str) -> list[str]:
    """What to run where docs/glossary.md is not what the lessons say."""
    path = root / "docs" / "glossary.md"
    fresh = path.exists() and path.read_text(encoding="utf-8") == page
    return [] if fresh else [f"docs/glossary.md: stale; run `{program_name()} build`"]
