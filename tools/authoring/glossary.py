"""The glossary: terms are marked in the lesson that explains them, and collected in docs/glossary.md.

    A {term:softmax} turns scores into weights that sum to 1.        in the source
    A ***softmax*** turns scores into weights that sum to 1.         in the notebook

`{term:softmax|soft maximum}` shows the words after the bar.
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
    """A term, the sentence that explains it, and its lesson and line."""

    term: str
    sentence: str
    lesson: LessonSource
    line: int


def misspelt_terms(cells: Iterable[Cell]) -> Iterator[LessonError]:
    """Text that looks like a term but isn't valid, and so would appear unchanged in the notebook."""
    for cell in cells:
        if cell.form == MARKDOWN and (match := LIKE_A_TERM.search(TERM.sub("", cell.text))):
            message = "write a term as {term:softmax} or {term:softmax|words to show}"
            yield LessonError(cell.line, f"{message}, not as `{match[0]}`")


def with_terms_shown(text: str) -> str:
    return TERM.sub(lambda match: f"***{match['words'] or match['name']}***", text)


def every_definition(lessons: list[LessonSource]) -> list[Definition]:
    """All definitions in these lessons, in order."""
    return [
        Definition(term["name"], sentence(cell.text, term.start()), lesson, cell.line_at(term.start()))
        for lesson in lessons
        for cell in lesson.cells
        if cell.form == MARKDOWN
        for term in TERM.finditer(cell.text)
    ]


def sentence(text: str, offset: int) -> str:
    """The sentence at an offset in a Markdown text, on one line and without list or heading marks."""
    ends = list(SENTENCE_END.finditer(text))
    start = max((end.end() for end in ends if end.end() <= offset), default=0)
    stop = min((end.start() for end in ends if end.start() > offset), default=len(text))
    return with_terms_shown(" ".join(SENTENCE_MARKS.sub("", text[start:stop]).split()))


def defined_twice(lessons: list[LessonSource]) -> list[str]:
    """Every repeated definition of a term."""
    first: dict[str, Definition] = {}
    problems = []
    for definition in every_definition(lessons):
        earlier = first.setdefault(definition.term.casefold(), definition)
        if earlier is not definition:
            source = f"{earlier.lesson.path}:{earlier.line}"
            message = f"the term {definition.term!r} is defined already, in {source}"
            problems.append(LessonError(definition.line, message).at(definition.lesson.path))
    return problems


def used_too_early(lessons: list[LessonSource]) -> list[str]:
    """The first use of each term in a lesson before the lesson that defines it."""
    problems = []
    for index, lesson in enumerate(lessons):
        cells = [cell for cell in lesson.cells if cell.form == MARKDOWN and cell.kind != "instructor"]
        prose = [(cell, NOT_PROSE.sub(spaces, without_fences(cell.text))) for cell in cells]
        for definition in every_definition(lessons[index + 1 :]):
            words = r"\s+".join(map(re.escape, definition.term.split()))
            pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
            uses = ((cell, match) for cell, text in prose if (match := pattern.search(text)))
            for cell, match in islice(uses, 1):
                message = f"{definition.term!r} is used here, but {definition.lesson.name} explains it first"
                message += "; explain it here, say it otherwise, or link to where it is explained"
                problems.append(LessonError(cell.line_at(match.start()), message).at(lesson.path))
    return problems


def glossary_page(lessons: list[LessonSource]) -> str:
    """The text of docs/glossary.md: every term with its sentence and its lesson, alphabetically."""
    definitions = every_definition(lessons)
    intro = "Made by `python3 -m course_lib build` from the lessons that explain each term.\n"
    none = "No lesson defines a term yet; `{term:softmax}` in a lesson's text would."
    rows = [f"# Glossary\n\n{intro if definitions else none}"]
    for term, definition, lesson, _ in sorted(definitions, key=lambda entry: entry.term.casefold()):
        link = f"[{lesson.number} · {lesson.title}](../notebooks/{lesson.name}.ipynb)"
        rows.append(f"- **{term}**: {definition} ({link})")
    return "\n".join(rows) + "\n"
