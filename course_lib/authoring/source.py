'''Read a lesson source, `notebooks/source/NN_topic/lesson.py`, into cells that know their lines.

    # %% [markdown] kind="text" minutes=3
    r"""
    ## Why $\\sqrt{d_k}$?
    """

    # %% kind="loop"
    total = sum(weights)

The files are jupytext's py:percent format, so any editor that knows it can open them. Reading them is
our own, because a problem must name its line, and one way only: from source to notebook.
'''

from __future__ import annotations

import ast
import hashlib
import json
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from course_lib.authoring.cell_kinds import CODE, EDITIONS, EXERCISE_NEEDS, KINDS, MARKDOWN, OPTIONS

LIKE_A_HEADER = re.compile(r"#\s*%%")
PAIR = re.compile(r" +([a-z_]+)=(\"(?:[^\"\\]|\\.)*\"|[^\s\"]+)")
HEADER = re.compile(rf"# %%(?P<markdown> \[markdown\])?(?P<options>({PAIR.pattern})*) *")
FENCED = re.compile(r"^\s*(```+|~~~+).*?^\s*\1", re.MULTILINE | re.DOTALL)

Options = dict[str, str | int | float | bool]


class LessonError(Exception):
    """One problem of a lesson, told as `path:line: message`; `raise_all` fills in the path."""

    def __init__(self, line: int, message: str, path: str = ""):
        super().__init__(line, message, path)
        self.line, self.message, self.path = line, message, path

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def raise_all(path: str, problems: list[LessonError]) -> None:
    """Raise all problems of a lesson together, in the order of their lines, so they are mended in one go."""
    for problem in problems:
        problem.path = path
    if problems:
        raise ExceptionGroup("the lesson cannot be built", sorted(problems, key=lambda problem: problem.line))


@dataclass(frozen=True)
class Cell:
    """One cell of a source or of a notebook. `lines[i]` is the line of the file behind `text`'s line i."""

    kind: str
    form: str
    line: int
    text: str
    lines: tuple[int, ...]
    options: Options
    editions: tuple[str, ...] = EDITIONS  # those it stands in

    @property
    def minutes(self) -> float:
        return self.options["minutes"] if "minutes" in self.options else KINDS[self.kind].minutes

    @property
    def track(self) -> str:
        return self.options.get("track", "core")

    def line_at(self, place: int) -> int:
        """The line of the file behind a place in the text."""
        return self.lines[self.text.count("\n", 0, place)]

    def numbered_lines(self) -> list[tuple[int, str]]:
        return list(zip(self.lines, self.text.split("\n"), strict=True))

    def with_lines(self, numbered: list[tuple[int, str]]) -> Cell:
        lines, texts = zip(*numbered, strict=True)
        return replace(self, text="\n".join(texts), lines=lines)


@dataclass(frozen=True)
class LessonSource:
    """A lesson source, read. `path` is how messages call the file, from the project's root."""

    path: str
    name: str  # of its folder, NN_topic
    sha256: str
    cells: tuple[Cell, ...]

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def title(self) -> str:
        """The heading of the title cell, without hash and number."""
        text = next((cell.text for cell in self.cells if cell.kind == "title"), self.name)
        return re.sub(r"^#\s*(\d\d\s*·)?\s*", "", text.split("\n")[0])

    @property
    def minutes(self) -> float:
        return sum(cell.minutes for cell in self.cells)

    @property
    def short(self) -> bool:
        """Whether the title cell's header says so."""
        return any(cell.options.get("short") for cell in self.cells)


def spaces(found: re.Match[str]) -> str:
    """As many spaces as signs were found, line ends kept: what comes after stays in its place."""
    return re.sub(r"[^\n]", " ", found[0])


def without_fences(text: str) -> str:
    """The text with spaces for every fenced code block."""
    return FENCED.sub(spaces, text)


def sources(root: Path) -> list[Path]:
    """Every lesson source of the course, in order."""
    return sorted((root / "notebooks" / "source").glob("*/lesson.py"))


def read_lesson(path: Path, root: Path) -> LessonSource:
    """Read one source; its problems are raised together, each with file and line."""
    shown, name = path.relative_to(root).as_posix(), path.parent.name
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", name):
        raise_all(shown, [LessonError(1, "a lesson's folder is called NN_topic, such as 08_query_key_value")])
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()  # read_text made every line end \n: Windows agrees
    return LessonSource(shown, name, digest, read_cells(shown, text))


def read_cells(path: str, text: str) -> tuple[Cell, ...]:
    """Cut the text at its `# %%` headers and read every cell."""
    lines = text.split("\n")  # splitlines would also cut at form feeds, where Python counts no line
    starts = [number for number, line in enumerate(lines, 1) if LIKE_A_HEADER.match(line)]
    starts.append(len(lines) + 1)
    cells, problems = [], []
    for number, line in enumerate(lines[: starts[0] - 1], 1):
        if line.strip() and not line.startswith("#"):
            problems.append(LessonError(number, 'open a cell first, with a line like # %% kind="code"'))
    for start, end in pairwise(starts):
        try:
            cells.append(read_cell(start, lines[start - 1 : end - 1]))
        except LessonError as problem:
            problems.append(problem)
    raise_all(path, problems)
    return tuple(cells)


def read_cell(line: int, block: list[str]) -> Cell:
    """Read one cell: its header is the block's first line, which stands on `line` of the file."""
    form, options = read_header(line, block[0])
    skipped = next((at for at, text in enumerate(block) if at and text.strip()), 1)
    first, body = line + skipped, "\n".join(block[skipped:]).rstrip()
    try:
        tree = ast.parse(body)
    except SyntaxError as error:
        raise LessonError(first + (error.lineno or 1) - 1, f"this is not Python: {error.msg}") from None
    if form == MARKDOWN and body:
        body, skipped = markdown_text(first, body, tree)
        first += skipped
    if not body:
        raise LessonError(line, "the cell is empty; write something in it or take its header out")
    lines = tuple(range(first, first + body.count("\n") + 1))
    return Cell(options["kind"], form, line, body, lines, options)


def read_header(line: int, text: str) -> tuple[str, Options]:
    """The cell's form, and its options, which must be known, fit one another, and hold what they want."""
    header = HEADER.fullmatch(text)
    try:
        pairs = [(name, json.loads(value)) for name, value in PAIR.findall(header["options"])]
    except (TypeError, ValueError):
        example = '# %% kind="code" minutes=5 or # %% [markdown] kind="text"'
        raise LessonError(line, f"cannot read `{text}`: write key=value pairs, as in {example}") from None
    options, form = dict(pairs), MARKDOWN if header["markdown"] else CODE
    kind = options.get("kind")
    if kind not in KINDS:
        raise LessonError(line, f"the cell's kind is {kind!r}; known are {', '.join(KINDS)}")
    if form not in KINDS[kind].forms:
        right = "# %% [markdown]" if form == CODE else "# %%"
        raise LessonError(line, f'a {kind} cell is not {form}; open it with {right} kind="{kind}"')
    if len(options) < len(pairs):
        raise LessonError(line, "an option is there twice")
    for name, value in pairs:
        if name not in OPTIONS or kind not in OPTIONS[name].kinds:
            raise LessonError(line, f"the option {name} does not belong on a {kind} cell")
        if not OPTIONS[name].accepts(value):
            raise LessonError(line, f"{name} wants {OPTIONS[name].wants}; it is {json.dumps(value)}")
    if kind == "exercise" and (missing := [name for name in EXERCISE_NEEDS if name not in options]):
        raise LessonError(line, f"the exercise lacks {', '.join(missing)} in its header")
    return form, options


def markdown_text(line: int, body: str, tree: ast.Module) -> tuple[str, int]:
    """The text inside a Markdown cell's string, and on which of the cell's lines it begins."""
    match tree.body:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            pass
        case _:
            raise LessonError(line, 'a Markdown cell holds one string and nothing else: """ text """')
    if "\\" in body and not body.startswith(("r", "R")):
        at = line + body.count("\n", 0, body.index("\\"))
        raise LessonError(at, 'a backslash in a plain string turns \\t of \\tau into a tab; write r"""')
    kept = text.strip()
    return kept, tree.body[0].lineno - 1 + text.count("\n", 0, text.index(kept))
