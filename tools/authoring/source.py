'''Parse the text of a lesson source into cells with line numbers.

    # %% [markdown] kind="text" track="short"
    r"""
    ## Why $\\sqrt{d_k}$?
    """

    # %% kind="loop"
    total = sum(weights)

The files use jupytext's py:percent format, which many editors support. They are parsed here rather than by
jupytext because every error must name its line, and notebooks are never converted back.
'''

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from tools.authoring.cell_kinds import CODE, CORE, EDITIONS, EXERCISE_NEEDS, KINDS, MARKDOWN, OPTIONS

LIKE_A_HEADER = re.compile(r"#\s*%%")
PAIR = re.compile(r" +([a-z_]+)=(\"(?:[^\"\\]|\\.)*\"|[^\s\"]+)")
HEADER = re.compile(rf"# %%(?P<markdown> \[markdown\])?(?P<options>({PAIR.pattern})*) *")
CORE_LINE = "<!-- core -->"  # marks a line of the full lesson only, such as a goal
FENCED = re.compile(r"^\s*(```+|~~~+).*?^\s*\1", re.MULTILINE | re.DOTALL)

Options = dict[str, str | int | float | bool]


class FileLine(int):
    """The number of a line in another file of the lesson."""

    def __new__(cls, number: int, file: str):
        line = super().__new__(cls, number)
        line.file = file
        return line


class LessonError(Exception):
    """A problem in a lesson, with its line. The caller adds the file: `problem.at(lesson.path)`."""

    def __init__(self, line: int, message: str):
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message

    def at(self, path: str) -> str:
        if isinstance(self.line, FileLine):
            path = f"{path.rpartition('/')[0]}/{self.line.file}"
        return f"{path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Cell:
    """A cell of a source or of a notebook. Line i of `text` comes from line `lines[i]` of the source file."""

    kind: str
    form: str
    line: int
    text: str
    lines: tuple[int, ...]
    options: Options
    editions: tuple[str, ...] = EDITIONS  # those that contain it
    computed: float = 0.0  # minutes, by tools/authoring/minutes.py
    computed_short: float = 0.0  # the same on the short track, where a quiz may ask less

    @property
    def minutes(self) -> float:
        """As computed, unless the header overrides them."""
        return self.options.get("minutes", self.computed)

    @property
    def track(self) -> str:
        return self.options.get("track", CORE)

    @property
    def for_short_track(self) -> Cell:
        """The cell on the short track: without the lines for the full lesson only, with its own minutes."""
        cell = replace(self, computed=self.computed_short)
        if self.form != MARKDOWN or CORE_LINE not in self.text:
            return cell
        return cell.with_lines([line for line in self.numbered_lines() if CORE_LINE not in line[1]])

    def line_at(self, offset: int) -> int:
        """The line of the source file for an offset in the text."""
        return self.lines[self.text.count("\n", 0, offset)]

    def numbered_lines(self) -> list[tuple[int, str]]:
        return list(zip(self.lines, self.text.split("\n"), strict=True))

    def with_lines(self, numbered: list[tuple[int, str]]) -> Cell:
        lines, texts = zip(*numbered, strict=True)
        return replace(self, text="\n".join(texts), lines=lines)


def cell_ids(cells: Iterable[Cell]) -> list[str]:
    """The ids of the cells in a notebook. They depend on the content alone, before numbers and links are
    filled in: a new cell or number doesn't change the others, and a cell has the same id in every edition."""
    occurrences: Counter[str] = Counter()
    ids = []
    for cell in cells:
        content = f"{cell.form}\n{cell.text}"
        occurrences[content] += 1
        ids.append(hashlib.sha256(f"{occurrences[content]}\n{content}".encode()).hexdigest()[:12])
    return ids


def spaces(match: re.Match[str]) -> str:
    """Spaces as long as the match, with its newlines, so that offsets of the rest stay the same."""
    return re.sub(r"[^\n]", " ", match[0])


def without_fences(text: str) -> str:
    """The text with every fenced code block replaced by spaces."""
    return FENCED.sub(spaces, text)


def read_cells(text: str) -> tuple[Cell, ...]:
    """Split the text at its `# %%` headers and parse every cell."""
    lines = text.split("\n")  # splitlines would also split at form feeds, which Python doesn't count
    starts = [number for number, line in enumerate(lines, 1) if LIKE_A_HEADER.match(line)]
    starts.append(len(lines) + 1)
    for number, line in enumerate(lines[: starts[0] - 1], 1):
        if line.strip() and not line.startswith("#"):
            raise LessonError(
                number, 'code outside a cell; start a cell with a line such as # %% kind="code"'
            )
    return tuple(read_cell(start, lines[start - 1 : end - 1]) for start, end in pairwise(starts))


def read_cell(line: int, block: list[str]) -> Cell:
    """Parse one cell. The block's first line is its header, on line `line` of the file."""
    form, options = read_header(line, block[0])
    skipped = next((index for index, text in enumerate(block) if index and text.strip()), 1)
    first, body = line + skipped, "\n".join(block[skipped:]).rstrip()
    try:
        tree = ast.parse(body)
    except SyntaxError as error:
        raise LessonError(first + (error.lineno or 1) - 1, f"this is not valid Python: {error.msg}") from None
    if form == MARKDOWN:
        body, skipped = markdown_text(first, body, tree)
        first += skipped
    lines = tuple(range(first, first + body.count("\n") + 1))
    return Cell(options["kind"], form, line, body, lines, options)


def read_header(line: int, text: str) -> tuple[str, Options]:
    """The cell's form and its options; raises for an unknown or wrong option."""
    header = HEADER.fullmatch(text)
    try:
        options = {name: json.loads(value) for name, value in PAIR.findall(header["options"])}
    except (TypeError, ValueError):
        example = '# %% kind="code" track="core" or # %% [markdown] kind="text"'
        raise LessonError(line, f"can't read `{text}`: write key=value pairs, as in {example}") from None
    kind, form = options.setdefault("kind", None), MARKDOWN if header["markdown"] else CODE
    for name, value in options.items():
        if name not in OPTIONS:
            raise LessonError(line, f"unknown option {name}; the options are {', '.join(OPTIONS)}")
        allowed = OPTIONS[name]
        if allowed and value not in allowed:
            raise LessonError(line, f"{name} is {value!r}; expected one of {', '.join(map(str, allowed))}")
    minutes, most = options.get("minutes", 0), 0 if kind == "instructor" else 90
    if type(minutes) not in (int, float) or not 0 <= minutes <= most:
        raise LessonError(line, f"minutes is {minutes!r}; a {kind} cell needs a number from 0 to {most}")
    if ("minutes" in options) != ("because" in options):
        reason = 'minutes are computed; to override them, give a reason: minutes=8 because="a live run"'
        raise LessonError(line, reason)
    for name in ("exercise", "title", "name", "because", "contents", "part"):
        if name in options and not (isinstance(options[name], str) and options[name].strip()):
            raise LessonError(line, f"{name} must be a non-empty string, not {options[name]!r}")
    if form not in KINDS[kind].forms:
        header_start = "# %% [markdown]" if form == CODE else "# %%"
        raise LessonError(line, f'a {kind} cell can\'t be {form}; start it with {header_start} kind="{kind}"')
    if kind == "exercise" and (missing := [name for name in EXERCISE_NEEDS if name not in options]):
        raise LessonError(line, f"the header of this exercise lacks {', '.join(missing)}")
    return form, options


def markdown_text(line: int, body: str, tree: ast.Module) -> tuple[str, int]:
    """The text inside a Markdown cell's string, and how many lines of the cell precede it."""
    match tree.body:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            pass
        case _:
            raise LessonError(line, 'a Markdown cell must contain one string and nothing else: """ text """')
    if "\\" in body and not body.startswith(("r", "R")):
        backslash_line = line + body.count("\n", 0, body.index("\\"))
        raise LessonError(
            backslash_line,
            'the text contains a backslash; start it with r""", or the \\t of \\tau becomes a tab',
        )
    content = text.strip()
    return content, tree.body[0].lineno - 1 + text.count("\n", 0, text.index(content))
