"""What is wrong with a lesson's files of known mistakes, each with its line and what to do.

    >>> from course_lib.runtime import PROJECT_ROOT
    >>> list(file_problems(PROJECT_ROOT / "lessons" / "l08_query_key_value"))
    []

Reading them shows whether each can be applied; running them, whether the check knows it by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from course_lib.teaching.exercises.mistakes import UNREPAIRED, Mistake, read_mistakes
from tools.authoring.solutions import definitions_in

HOMES = ("solutions.py", "modules.py")  # in a lesson's folder, the code that mistakes may change


def file_problems(folder: Path) -> Iterator[str]:
    """Found by reading: a name that the lesson doesn't define, a line that can't be replaced, a change to
    nothing, two that are the same."""
    texts = {}
    for home in reversed(HOMES):
        if (folder / home).exists():
            found = definitions_in((folder / home).read_text(encoding="utf-8"))
            texts |= {name: "\n".join(line for _, line in numbered) for name, numbered in found.items()}
    for file in sorted((folder / "mistakes").glob("*.txt")):
        try:
            mistakes = read_mistakes(file)
            if file.stem in texts:
                yield from text_problems(mistakes, texts[file.stem], file.stem)
            else:
                where = file.relative_to(folder.parents[1]).as_posix()
                advice = "name the file after the solution that its lines change"
                yield f"{where}:1: {' and '.join(HOMES)} don't define {file.stem!r}; {advice}"
        except ValueError as error:
            yield str(error)


def text_problems(mistakes: list[Mistake], solution: str, name: str) -> Iterator[str]:
    seen = {ast.dump(ast.parse(solution)): "the solution"}
    for mistake in mistakes:
        try:
            code = ast.dump(ast.parse(mistake.apply_to(solution, name)))
        except SyntaxError as error:
            yield f"{mistake.where}: with {mistake.name!r}, {error.msg}: {(error.text or '').strip()}"
            continue
        if other := seen.get(code):
            yield f"{mistake.where}: {mistake.name!r} is the same code as {other}; change it, or remove it"
        seen[code] = repr(mistake.name)


def unrecognised(folder: Path) -> Iterator[str]:
    """Found by running: a mistake that no check knows, that passes, or behaves like another one."""
    from course_lib.teaching.exercises import judge  # loads torch

    for exercise in import_module(f"lessons.{folder.name}.exercises").EXERCISES:
        file = folder / "mistakes" / f"{getattr(exercise.reference, '__name__', '')}.txt"
        slips = {slip.name: slip.wrong for slip in getattr(exercise, "slips", ())}
        for mistake in read_mistakes(file) if file.exists() else ():
            if mistake.name == UNREPAIRED:
                continue
            if mistake.name not in slips:
                advice = f"add slips=known_mistakes(solutions.{file.stem}) to the exercise"
                yield f"{mistake.where}: the check doesn't know {mistake.name!r}; {advice}"
                continue
            verdict = judge(exercise, slips[mistake.name])
            if verdict.status == "passed":
                yield f"{mistake.where}: {mistake.name!r} passes the check; change it, or add a case"
            elif verdict.slip != mistake.name:
                other = f"is called {verdict.slip!r}; remove one of them, or add a case in which they differ"
                yield f"{mistake.where}: judged as an answer, {mistake.name!r} {other}"
