"""Graded hints and the solution, folded: the learner opens as much help as they want.

    >>> print(folded("Hint 1 · Look at `d_k`", "Which axis?"))
    <details><summary>Hint 1 · Look at <code>d_k</code></summary><blockquote>
    <BLANKLINE>
    Which axis?
    <BLANKLINE>
    </blockquote></details>
    <BLANKLINE>

The blank lines matter: without them JupyterLab and GitHub show the inside as raw text. The quote is in
HTML, so that formulas and fences inside it keep their lines as they are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.authoring.problem import LessonError
from course_lib.authoring.source import Cell

FENCE = re.compile(r"\s*(```+|~~~+)")


@dataclass(frozen=True)
class Hint:
    title: str
    text: str


def outside_fences(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Markdown text that are not in a fenced code block, with their index."""
    fence = ""
    for at, line in enumerate(text.split("\n")):
        if match := FENCE.match(line):
            if not fence:
                fence = match[1]
            elif line.strip().startswith(fence):
                fence = ""
        elif not fence:
            yield at, line


def split_hints(path: str, cell: Cell) -> tuple[Hint, ...]:
    """Cut a hints cell at its lines of `---`; a hint's `### heading` becomes its title."""
    lines = cell.text.split("\n")
    cuts = [at for at, line in outside_fences(cell.text) if re.fullmatch(r"-{3,}\s*", line)]
    hints = []
    for start, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(lines)], strict=True):
        text = "\n".join(lines[start:end]).strip()
        title = ""
        if text.startswith("### "):
            title, _, text = text.removeprefix("### ").partition("\n")
        if not text.strip():
            raise LessonError(
                path,
                cell.lines[min(start, len(lines) - 1)],
                "this hint is empty; write it or take out its ---",
            )
        hints.append(Hint(title.strip(), text.strip()))
    return tuple(hints)


def folded(summary: str, body: str) -> str:
    """A Markdown text folded under one line; `code` in that line is kept, everything else is plain."""
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(summary, quote=False))
    return f"<details><summary>{shown}</summary><blockquote>\n\n{body}\n\n</blockquote></details>\n"


def fenced(code: str) -> str:
    """Python in a fence longer than any fence inside it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}python\n{code}\n{fence}"


def hints_text(hints: tuple[Hint, ...], solution: str | None) -> str:
    """The cell under an exercise: each hint folded, then the solution where it is not above already."""
    parts = [
        folded(f"Hint {number} · {hint.title}" if hint.title else f"Hint {number}", hint.text)
        for number, hint in enumerate(hints, 1)
    ]
    if solution is not None:
        parts.append(folded("Solution", fenced(solution)))
    return "\n".join(parts).rstrip()
