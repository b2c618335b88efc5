"""`course_lib build`: build every lesson's notebooks, or check whether the stored ones are up to date.

>>> build_all(["08"])                  # the learner's, short, solved and instructor's notebook of lesson 08
>>> build_all([], check=True)          # do all stored notebooks match their sources?
>>> build_all([], run=False)           # write the text and links that have changed, without running any code
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from course_lib.runtime import PROJECT_ROOT, program_name, write_atomically
from course_lib.teaching.contents import FULL, SHORT
from tools.authoring.answers import add_answers, answers_in, outdated_answers, stored_answers, without_answer
from tools.authoring.cell_kinds import CODE
from tools.authoring.editions import PUBLISHED, LessonDraft, as_text, assemble, from_text
from tools.authoring.glossary import (
    PAGE,
    Glossary,
    GlossaryError,
    glossary_page,
    read_glossary,
    unknown_terms,
    used_too_early,
)
from tools.authoring.imports import Code, wrong_imports
from tools.authoring.lesson import LessonSource, read_lesson, sources
from tools.authoring.lesson_table import README, TABLE, readme_with_table, table_of, table_text
from tools.authoring.mistake_files import file_problems, unrecognised
from tools.authoring.outputs import check_outputs, outdated
from tools.authoring.picture_count import print_counts
from tools.authoring.quiz_file import quiz_problems, section_problems
from tools.authoring.rules import breaches
from tools.authoring.single_file import FETCHED_FROM, readme_with_address, repository
from tools.authoring.source import LessonError

N_KERNELS = 2  # at once: each uses a core and, with torch, about 300 MB
# Editions that differ only in prose share a run. The core edition is run to see that it needs no stretch.
RUNS = [["learner"], ["short"], ["core"], ["solved", "instructor"]]
RESULTS = ("outputs", "execution_count")  # of a code cell
COMMITTED = tuple(PUBLISHED)
STORED = {**PUBLISHED, "solved": "build/solved", "instructor": "build/instructor"}


def draft(path: Path, root: Path, glossary: Glossary | None = None) -> LessonDraft:
    """Read one source; raises its first error."""
    glossary = read_glossary(root) if glossary is None else glossary
    return assemble(read_lesson(path, root), glossary, repository(root))


def target(root: Path, made: LessonDraft, edition: str) -> Path:
    return root / STORED[edition] / f"{made.lesson.name}.ipynb"


def build_all(
    names: Sequence[str], check: bool = False, *, run: bool = True, root: Path = PROJECT_ROOT
) -> int:
    """Build the lessons named by number or topic (default: all); 0 if there are no problems.

    With `check` nothing is run or written: the stored learner's notebooks are compared with their
    sources. Without `run`, text and links in the stored notebooks are updated, and their outputs stay; code
    that has changed is a problem. Every problem of every lesson is printed, with file and line.
    """
    from course_lib.formatting import counted  # here, because it loads torch

    start, paths = time.perf_counter(), sources(root)
    chosen, problems = choose(paths, names)
    problems += missing_sources(root)
    lessons, valid, code = [], [], Code(root)
    try:
        glossary = read_glossary(root)
    except GlossaryError as error:
        problems, glossary, paths = [*problems, str(error)], Glossary(), []
    for path in paths:  # also those that were not chosen, for the pages about all lessons
        try:
            made = draft(path, root, glossary)
            lessons.append(made.lesson)
            errors = [*breaches(made), *unknown_terms(made.lesson, glossary)]
        except LessonError as error:
            errors = [error]
            problems += [] if path in chosen else [error.at(path.relative_to(root).as_posix())]
        if path in chosen:
            lesson_problems = wrong_imports(code, path.parent.name)
            lesson_problems += [error.at(path.relative_to(root).as_posix()) for error in errors]
            lesson_problems += file_problems(path.parent)
            quiz = path.with_name("quiz.json")
            lesson_problems += quiz_problems(quiz, root)
            lesson_problems += section_problems(made.lesson, quiz, root) if not lesson_problems else []
            if run and not check and not lesson_problems and root == PROJECT_ROOT:
                lesson_problems += unrecognised(path.parent)
            problems += lesson_problems
            valid += [] if lesson_problems else [made]
    pages = made_pages(root, lessons, glossary) if len(lessons) == len(paths) > 0 else {}
    if check:
        problems += [text for made in valid for text in staleness(root, made)]
        if not names:
            problems += used_too_early(lessons, glossary)
            problems += stale_pages(root, pages)
        summary = f"{counted(len(chosen), 'lesson')} checked"
    else:
        for name, text in () if problems else pages.items():  # first: lessons read them
            write_atomically(root / name, text)
        if run:
            n_written, build_problems = asyncio.run(build_drafts(root, valid))
        else:
            n_written, build_problems = update_stored(root, valid)
        problems += build_problems
        for edition in COMMITTED:
            print_counts(target(root, made, edition) for made in valid)
        seconds = time.perf_counter() - start
        summary = f"{counted(n_written, 'notebook')} {'built' if run else 'updated'} in {seconds:.1f} s"
    for text in problems:
        print(text, file=sys.stderr)
    print(f"{summary}; {counted(len(problems), 'problem') if problems else 'no problems'}")
    return 1 if problems else 0


def missing_sources(root: Path) -> list[str]:
    """A problem for every lesson folder without a lesson.py."""
    folders = sorted((root / "lessons").glob("l[0-9][0-9]_*/"))
    sources = [folder / "lesson.py" for folder in folders]
    missing = [path.relative_to(root).as_posix() for path in sources if not path.exists()]
    return [f"{path}:1: the file is missing; every lesson folder needs one" for path in missing]


def choose(paths: list[Path], names: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The sources named "08", "8", "query_key_value" or "08_query_key_value" (no name: all), and problems."""
    chosen, problems = [] if names else paths, []
    for name in names:
        key = f"{name:0>2}" if name.isdecimal() else name
        folders = {path: path.parent.name[1:] for path in paths}
        matches = [path for path, folder in folders.items() if key in (folder[:2], folder[3:], folder)]
        chosen += matches
        if not matches:
            problems.append(f"Unknown lesson {name!r}. Choose from: {', '.join(folders.values())}.")
    return list(dict.fromkeys(chosen)), problems


# ---- building


async def build_drafts(root: Path, drafts: list[LessonDraft]) -> tuple[int, list[str]]:
    """Run and store every edition, a few kernels at a time; returns how many were written, and problems."""
    kernels = asyncio.Semaphore(N_KERNELS)
    results = await asyncio.gather(*(build_lesson(root, made, kernels) for made in drafts))
    return sum(count for count, _ in results), [text for _, problems in results for text in problems]


def working_folder(root: Path, edition: str) -> Path:
    """The folder in which a learner's kernel runs."""
    folder = root / (STORED[edition] if edition in COMMITTED else "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_needed(made: LessonDraft, editions: list[str]) -> bool:
    """The core edition differs from the learner's only if a lesson has stretch code."""
    return editions != ["core"] or made.cells["core"] != made.cells["learner"]


class Run(NamedTuple):
    """The editions that share a run, and the outputs of its code cells."""

    editions: list[str]
    outputs: list[list[dict]]
    seconds: float


async def build_lesson(root: Path, made: LessonDraft, kernels: asyncio.Semaphore) -> tuple[int, list[str]]:
    """Run a lesson's editions, and store them if none has a problem."""
    jobs = [run_editions(root, made, editions, kernels) for editions in RUNS if is_needed(made, editions)]
    results = await asyncio.gather(*jobs)
    if problems := [result for result in results if isinstance(result, str)]:
        return 0, problems
    notebooks, problems = executed_notebooks(made, results)
    if problems:
        return 0, problems
    for edition, notebook, seconds in notebooks:
        path, text = target(root, made, edition), as_text(notebook)
        write_atomically(path, text)
        minutes = notebook["metadata"]["course"]["minutes"]
        size = f"{len(notebook['cells']):3} cells, {len(code_cells(notebook)):2} code, {minutes:.0f} min"
        size += f", {len(text.encode()) // 1000} kB, run in {seconds:.1f} s"
        print(f"{path.relative_to(root).as_posix():50} {size}", flush=True)
    return len(notebooks), []


async def run_editions(
    root: Path, made: LessonDraft, editions: list[str], kernels: asyncio.Semaphore
) -> Run | str:
    """Run the notebook of editions that share their code cells; a problem is returned as text."""
    from tools.authoring.execute import (
        execute,
    )  # importing Jupyter takes two seconds, and a check doesn't need it

    async with kernels:
        start = time.perf_counter()
        try:
            outputs = await execute(made, editions[0], working_folder(root, editions[0]))
        except LessonError as problem:
            return f"{problem.at(made.lesson.path)} [{editions[0]}]"
        return Run(editions, outputs, time.perf_counter() - start)


def executed_notebooks(made: LessonDraft, runs: list[Run]) -> tuple[list[tuple[str, dict, float]], list[str]]:
    """The editions to store, with the seconds of their runs, and problems."""
    notebooks, problems, answers = [], [], {}
    for run in sorted(runs, key=lambda run: "solved" not in run.editions):  # first, for the answers
        for edition in filter(STORED.get, run.editions):
            try:
                if edition == "solved":
                    answers = answers_in(made.cells[edition], run.outputs)
                notebook = executed(made, edition, run.outputs)
                if edition in COMMITTED:
                    add_answers(notebook, answers)
                errors = check_outputs(made.cells[edition], notebook)
            except LessonError as error:  # prose quotes a number that no cell prints; a guess has no answer
                errors = [error]
            notebooks += [] if errors else [(edition, notebook, run.seconds)]
            problems += [f"{error.at(made.lesson.path)} [{edition}]" for error in errors]
    return notebooks, problems


def executed(made: LessonDraft, edition: str, outputs: list[list[dict]]) -> dict:
    """An edition's notebook with the outputs of its code cells."""
    notebook = made.notebook(edition, outputs)
    for count, (cell, cell_outputs) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        cell |= {"outputs": cell_outputs, "execution_count": count}
    return notebook


# ---- updating without a run


def update_stored(root: Path, drafts: list[LessonDraft]) -> tuple[int, list[str]]:
    """Write the text and links that have changed; returns how many notebooks changed, and problems."""
    n_written = 0
    for made in drafts:
        for edition in COMMITTED:
            path = target(root, made, edition)
            with suppress(OSError, LessonError, ValueError, KeyError, TypeError):  # reported by `staleness`
                stored = path.read_text(encoding="utf-8")
                notebook = with_stored_outputs(made, from_text(stored), edition)
                if notebook and (text := as_text(notebook)) != stored:
                    write_atomically(path, text)
                    n_written += 1
    return n_written, [problem for made in drafts for problem in staleness(root, made)]


def with_stored_outputs(made: LessonDraft, stored: dict, edition: str) -> dict | None:
    """A notebook built from its source, with the outputs of the stored one; None if its code has changed.

    The repository's address, which is in a comment, may have changed.
    """
    stored_code = [cell["source"] for cell in code_cells(stored)]
    address = FETCHED_FROM.search("\n".join(stored_code))
    before = replace(made, repository=address[1] if address else "").notebook(edition)
    if stored_code != [cell["source"] for cell in code_cells(before)]:
        return None
    notebook = with_stored_numbers(made, stored, edition)
    for cell, stored_cell in zip(code_cells(notebook), code_cells(stored), strict=True):
        cell |= {key: stored_cell[key] for key in RESULTS}
    add_answers(notebook, stored_answers(stored))
    return notebook


def code_cells(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == CODE]


# ---- checking


def staleness(root: Path, made: LessonDraft) -> list[str]:
    """The problems of a lesson's stored notebooks, with the command to run; empty if they are fresh."""
    return [problem for edition in COMMITTED for problem in edition_staleness(root, made, edition)]


def edition_staleness(root: Path, made: LessonDraft, edition: str) -> list[str]:
    path, option = target(root, made, edition), ""
    try:
        stored = from_text(path.read_text(encoding="utf-8"))
        if inputs(stored) != inputs(with_stored_numbers(made, stored, edition)):
            problems = [f"stale: it doesn't match {made.lesson.path} and the address in pyproject.toml"]
            option = "--no-run " if with_stored_outputs(made, stored, edition) else ""
        else:
            cells = made.cells[edition]
            errors = [
                *check_outputs(cells, stored),
                *outdated(cells, stored, SHORT if edition == SHORT else FULL),
                *outdated_answers(cells, stored),
            ]
            problems = [f"{error.message} (source line {error.line})" for error in errors]
    except FileNotFoundError:
        problems = ["it has not been built yet"]
    except LessonError as problem:
        problems = [f"{problem.message} (source line {problem.line})"]
    except (ValueError, KeyError, TypeError):  # for example because of a merge conflict
        problems = ["this is not a notebook that `build` wrote"]
    remedy = f"run `{program_name()} build {option}{made.lesson.number}`"
    return [f"{path.relative_to(root).as_posix()}: {problem}; {remedy}" for problem in problems]


def with_stored_numbers(made: LessonDraft, stored: dict, edition: str) -> dict:
    """A notebook built from its source, with the printed numbers of the stored one."""
    outputs = [cell["outputs"] for cell in code_cells(stored)]
    n_code = sum(cell.form == CODE for cell in made.cells[edition])
    return made.notebook(edition, outputs if len(outputs) == n_code else None)


def inputs(notebook: dict) -> dict:
    """A notebook without what comes from running it: outputs, execution counts, answers."""
    cells = [
        {key: cell[key] for key in cell if key not in RESULTS}
        | {"metadata": without_answer(cell["metadata"])}
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": cells}


def made_pages(root: Path, lessons: list[LessonSource], glossary: Glossary) -> dict[str, str]:
    """The files that are made from all lessons together, by their path below the root."""
    rows = table_of(lessons)
    pages = {PAGE: glossary_page(lessons, glossary), TABLE: table_text(rows)}
    if (root / README).exists():
        readme = readme_with_table((root / README).read_text(encoding="utf-8"), rows)
        pages[README] = readme_with_address(readme, repository(root))
    return pages


def stale_pages(root: Path, pages: dict[str, str]) -> list[str]:
    """Each of these files that is out of date, with the command to run."""
    stored = {name: (root / name).read_text(encoding="utf-8") for name in pages if (root / name).exists()}
    stale = [name for name in pages if stored.get(name) != pages[name]]
    return [f"{name}: stale; run `{program_name()} build`" for name in stale]
