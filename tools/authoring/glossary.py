"""The glossary: terms are marked in the lesson that explains them, and gathered into docs/glossary.md.

    A {term:softmax} turns scores into weights that sum to 1.        in the source
    A ***softmax*** turns scores into weights that sum to 1.         in the notebook

`{term:softmax|soft maximum}` shows other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tools.authoring.cell_kinds import MARKDOWN
from tools.authoring.source import Cell, LessonError, LessonSource, spaces, without_fences

LIKE_A_TERM = re.compile(r"\{\s*terms?\s*[:|]", re.IGNORECASE)
TERM = re.compile(r"\{term:\s*(?P<name>[^{}|\n]*[^{}|\s])\s*(?:\|\s*(?P<words>[^{}|\n]*[^{}|\s])\s*)?\}")
# A sentence ends at its full stop, and where a paragraph, a row, a heading or an item of a list begins.
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n\s*\n|\n(?=\s*(?:[-*+>]|#+|\d+\.)\s|\s*\|)")
SENTENCE_MARKS = re.compile(r"^\s*(?:(?:[-*+>]|#+|\d+\.)\s+|\|\s*)+")
# Not prose: code, formulas, HTML tags, names of results. A link leads to the explanation: its words are free.
NOT_PROSE = re.compile(
    r"`[^`]+`|\{(?:result|printed):[^{}]*\}|\$\$.*?\$\$|\$[^$\n]+\$|\[[^\]]*\]\([^)]*\)|<[^>]+>", re.DOTALL
)


class Definition(NamedTuple):
    """A term, the sentence that explains it, and where that stands."""

    term: str
    sentence: str
    lesson: LessonSource
    line: int


def misspelt_terms(cells: Iterable[Cell]) -> Iterator[LessonError]:
    """What looks like a term and is none: a learner would see it as it is written."""
    for cell in cells:
        if cell.form == MARKDOWN and (found := LIKE_A_TERM.search(TERM.sub("", cell.text))):
            message = "write a term as {term:softmax} or {term:softmax|words to show}"
            yield LessonError(cell.line, f"{message}, not as `{found[0]}`")


def with_terms_shown(text: str) -> str:
    return TERM.sub(lambda found: f"***{found['words'] or found['name']}***", text)


def every_definition(lessons: list[LessonSource]) -> list[Definition]:
    """The terms these lessons define, in order."""
    return [
        Definition(term["name"], sentence(cell.text, term.start()), lesson, cell.line_at(term.start()))
        for lesson in lessons
        for cell in lesson.cells
        if cell.form == MARKDOWN
        for term in TERM.finditer(cell.text)
    ]


def sentence(text: str, at: int) -> str:
    """The sentence around a place in a Markdown text, on one line and without list or heading marks."""
    ends = list(SENTENCE_END.finditer(text))
    start = max((end.end() for end in ends if end.end() <= at), default=0)
    stop = min((end.start() for end in ends if end.start() > at), default=len(text))
    return with_terms_shown(" ".join(SENTENCE_MARKS.sub("", text[start:stop]).split()))


def defined_twice(lessons: list[LessonSource]) -> list[str]:
    """Every definition of a term that an earlier place of the course defines already."""
    first: dict[str, Definition] = {}
    problems = []
    for found in every_definition(lessons):
        known = first.setdefault(found.term.casefold(), found)
        if known is not found:
            message = f"the term {found.term!r} is defined already, in {known.lesson.path}:{known.line}"
            problems.append(LessonError(found.line, message).at(found.lesson.path))
    return problems


def used_too_early(lessons: list[LessonSource]) -> list[str]:
    """Where a lesson's prose first uses a term that only a later lesson defines."""
    problems = []
    for place, lesson in enumerate(lessons):
        cells = [cell for cell in lesson.cells if cell.form == MARKDOWN and cell.kind != "instructor"]
        prose = [(cell, NOT_PROSE.sub(spaces, without_fences(cell.text))) for cell in cells]
        for found in every_definition(lessons[place + 1 :]):
            words = r"\s+".join(map(re.escape, found.term.split()))
            used = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
            places = ((cell, at) for cell, text in prose if (at := used.search(text)))
            for cell, at in islice(places, 1):
                message = f"{found.term!r} is used here, but {found.lesson.name} explains it first"
                message += "; explain it here, say it otherwise, or link to where it is explained"
                problems.append(LessonError(cell.line_at(at.start()), message).at(lesson.path))
    return problems


def glossary_page(lessons: list[LessonSource]) -> str:
    """docs/glossary.md: every term with its sentence and its lesson, by the alphabet."""
    every = every_definition(lessons)
    made = "Made by `python3 -m course_lib build` from the lessons that explain each term.\n"
    none = "No lesson defines a term yet; `{term:softmax}` in a lesson's text would."
    rows = [f"# Glossary\n\n{made if every else none}"]
    for found in sorted(every, key=lambda found: found.term.casefold()):
        link = f"[{found.lesson.number} · {found.lesson.title}](../notebooks/{found.lesson.name}.ipynb)"
        rows.append(f"- **{found.term}**: {found.sentence} ({link})")
    return "\n".join(rows) + "\n"
