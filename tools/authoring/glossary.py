"""The glossary: lessons/glossary.toml defines every term, lessons link to it, docs/glossary.md lists it.

    A {term:softmax} turns scores into weights.                   in a lesson's source
    A [softmax](../docs/glossary.md#softmax "Turns …") turns …    in its notebook

Jupyter shows a link's title, the definition, when the learner points at it. `{term:softmax|soft maximum}`
shows the words after the bar. In the lesson that introduces a term, its first mark is bold.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tools.authoring.cell_kinds import MARKDOWN, SHORT, TRACKS
from tools.authoring.lesson import LessonSource
from tools.authoring.source import Cell, LessonError, spaces, without_fences

SOURCE = "lessons/glossary.toml"
PAGE = "docs/glossary.md"
LIKE_A_TERM = re.compile(r"\{\s*terms?\s*[:|]", re.IGNORECASE)
TERM = re.compile(r"\{term:\s*(?P<name>[^{}|\n]*[^{}|\s])\s*(?:\|\s*(?P<words>[^{}|\n]*[^{}|\s])\s*)?\}")
# Not prose: code, formulas, HTML tags, names of results, and links, which lead to an explanation.
NOT_PROSE = re.compile(
    r"`[^`]+`|\{(?:result|printed):[^{}]*\}|\$\$.*?\$\$|\$[^$\n]+\$|\[[^\]]*\]\([^)]*\)|<[^>]+>", re.DOTALL
)
REQUIRED = ("term", "definition", "lesson")
NEVER = "99"  # after the last lesson
LONGEST_DEFINITION = 320  # characters: what a tooltip shows without covering the text


class GlossaryError(Exception):
    """A problem in glossary.toml."""


@dataclass(frozen=True)
class Entry:
    """One term. Its key is the anchor of its heading in docs/glossary.md."""

    key: str
    term: str
    definition: str
    lesson: str  # the number of the lesson that introduces it
    symbol: str = ""
    shape: str = ""
    torch: str = ""
    also: tuple[str, ...] = ()  # other names in papers and tutorials
    forms: tuple[str, ...] = ()  # other forms in running text that count as a use of the term

    def link(self, words: str) -> str:
        return f'[{words}](../{PAGE}#{self.key} "{self.definition}")'

    @cached_property
    def uses(self) -> re.Pattern[str]:
        """Where a text uses the term, in any of its forms."""
        forms = sorted([self.term, *self.forms], key=len, reverse=True)
        patterns = [r"\s+".join(map(re.escape, form.split())) for form in forms]
        return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Glossary:
    """All entries, in alphabetical order."""

    entries: tuple[Entry, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        names = {name: entry for entry in self.entries for name in (*entry.also, *entry.forms, entry.term)}
        return {name.casefold(): entry for name, entry in names.items()}

    def find(self, name: str) -> Entry | None:
        """The entry for a term or another name of it."""
        return self._by_name.get(" ".join(name.casefold().split()))


def read_glossary(root: Path) -> Glossary:
    """The glossary of a project; empty if it has none."""
    path = root / SOURCE
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise GlossaryError(f"{SOURCE}: {error}") from None
    entries = [read_entry(key, table) for key, table in tables.items()]
    return Glossary(tuple(sorted(entries, key=lambda entry: entry.term.casefold())))


def read_entry(key: str, table: dict) -> Entry:
    """One table of the file as an entry."""
    known = [field.name for field in fields(Entry)][1:]
    for name in [*REQUIRED, *table]:
        if name not in table or name not in known:
            problem = "has no" if name not in table else "has an unknown"
            raise GlossaryError(
                f"{SOURCE}: [{key}] {problem} field {name!r}; the fields are {', '.join(known)}"
            )
    if len(table["definition"]) > LONGEST_DEFINITION or re.search(r'["|\n]', table["definition"]):
        rule = f"one line of at most {LONGEST_DEFINITION} characters, without double quotes or vertical bars"
        raise GlossaryError(f"{SOURCE}: the definition of [{key}] must be {rule}")
    return Entry(key, **{name: tuple(v) if isinstance(v, list) else v for name, v in table.items()})


# ---- marks in lessons


def misspelt_terms(cells: Iterable[Cell]) -> Iterator[LessonError]:
    """Text that looks like a term but isn't valid, and so would appear unchanged in the notebook."""
    for cell in cells:
        if cell.form == MARKDOWN and (match := LIKE_A_TERM.search(TERM.sub("", cell.text))):
            message = "write a term as {term:softmax} or {term:softmax|words to show}"
            yield LessonError(cell.line, f"{message}, not as `{match[0]}`")


def unknown_terms(lesson: LessonSource, glossary: Glossary) -> list[LessonError]:
    """Marked terms that have no entry."""
    return [
        LessonError(cell.line_at(match.start()), f"{match['name']!r} has no entry in {SOURCE}")
        for cell, match in marks(lesson.cells)
        if glossary.find(match["name"]) is None
    ]


def marks(cells: Iterable[Cell]) -> Iterator[tuple[Cell, re.Match[str]]]:
    for cell in cells:
        if cell.form == MARKDOWN:
            yield from ((cell, match) for match in TERM.finditer(cell.text))


class TermLinks:
    """Replaces the marks of one lesson, cell by cell in their order."""

    def __init__(self, glossary: Glossary, lesson: str):
        self.glossary, self.lesson = glossary, lesson
        self.introduced: set[str] = set()

    def replace(self, text: str) -> str:
        return TERM.sub(self._link, text)

    def _link(self, match: re.Match[str]) -> str:
        words = match["words"] or match["name"]
        entry = self.glossary.find(match["name"])
        if entry is None:  # `unknown_terms` reports it
            return f"**{words}**"
        introduces = entry.lesson == self.lesson and entry.key not in self.introduced
        self.introduced.add(entry.key)
        return f"**{entry.link(words)}**" if introduces else entry.link(words)


class LessonText(NamedTuple):
    """What a lesson says on one track: its texts without code, formulas and marks, and the terms it marks."""

    lesson: LessonSource
    texts: list[tuple[Cell, str]]
    marked: set[str]


def used_too_early(lessons: list[LessonSource], glossary: Glossary) -> list[str]:
    """The first use of each term, on each track, before the lesson that introduces it there.

    The glossary names that lesson. But if all its marks of the term are in cells that the short track skips,
    the short track introduces the term where it is first marked. Marked and linked uses are never too early.
    """
    full = [lesson_text(lesson, TRACKS, glossary) for lesson in lessons]
    short = [lesson_text(lesson, (SHORT,), glossary) for lesson in lessons]
    problems = []
    for entry in glossary.entries:
        problems += early_uses(full, entry, entry.lesson, f"lesson {entry.lesson} introduces it")
        on_full, on_short = first_mark(full, entry), first_mark(short, entry)
        if on_full == entry.lesson != on_short:
            reason = f"the short track skips its introduction in lesson {entry.lesson}"
            problems += early_uses(short, entry, on_short, reason)
    return problems


def lesson_text(lesson: LessonSource, tracks: Sequence[str], glossary: Glossary) -> LessonText:
    cells = [
        cell
        for cell in lesson.cells
        if cell.form == MARKDOWN and cell.kind != "instructor" and cell.track in tracks
    ]
    if tracks == (SHORT,):
        cells = [cell.for_short_track for cell in cells]
    texts = [(cell, NOT_PROSE.sub(spaces, TERM.sub(spaces, without_fences(cell.text)))) for cell in cells]
    marked = {entry.key for _, match in marks(cells) if (entry := glossary.find(match["name"]))}
    return LessonText(lesson, texts, marked)


def first_mark(track: list[LessonText], entry: Entry) -> str:
    """The first lesson that marks a term, at the earliest the one that introduces it."""
    numbers = (text.lesson.number for text in track if entry.key in text.marked)
    return next((number for number in numbers if number >= entry.lesson), NEVER)


def early_uses(track: list[LessonText], entry: Entry, introduced: str, reason: str) -> Iterator[str]:
    """The first use of a term in each lesson before the one that introduces it, unless it is marked there."""
    for lesson, texts, marked in track:
        if introduced <= lesson.number or entry.key in marked:
            continue
        uses = ((cell, match) for cell, text in texts if (match := entry.uses.search(text)))
        if use := next(uses, None):
            cell, match = use
            remedy = "mark it as {term:…}, rephrase the sentence, or change the lesson in the glossary"
            message = f"{entry.term!r} is used here, but {reason}; {remedy}"
            yield LessonError(cell.line_at(match.start()), message).at(lesson.path)


# ---- the page


def glossary_page(lessons: list[LessonSource], glossary: Glossary) -> str:
    """The text of docs/glossary.md."""
    titles = {lesson.number: lesson for lesson in lessons}
    parts = [
        "# Glossary",
        "In a lesson, hover over a linked term to see its definition. [From this course to the papers and "
        "PyTorch](papers_and_pytorch.md) compares notations and conventions. "
        f"This page is generated by `python3 -m course_lib build` from [{SOURCE}](../{SOURCE}).",
    ]
    for letter, entries in groupby(glossary.entries, lambda entry: entry.term[0].upper()):
        parts += [f"## {letter}", *(section(entry, titles.get(entry.lesson)) for entry in entries)]
    return "\n\n".join(parts) + "\n"


def section(entry: Entry, lesson: LessonSource | None) -> str:
    """One entry: its heading, its definition, and what else is known."""
    facts = [
        ("Symbol", f"`{entry.symbol}`" if entry.symbol else ""),
        ("Shape", f"`{entry.shape}`" if entry.shape else ""),
        ("Also called", html.escape(", ".join(entry.also), quote=False)),
        ("PyTorch", entry.torch),
        (
            "Lesson",
            f"[{lesson.number} · {lesson.title}](../notebooks/{lesson.name}.ipynb)"
            if lesson
            else entry.lesson,
        ),
    ]
    known = " · ".join(f"*{name}:* {value}" for name, value in facts if value)
    # GitHub's anchors are in lower case, JupyterLab's aren't; an anchor of our own works in both.
    anchor = "" if entry.key == entry.term.replace(" ", "-") else f'<a id="{entry.key}"></a>'
    return f"### {anchor}{entry.term}\n\n{html.escape(entry.definition, quote=False)}\n\n{known}"
