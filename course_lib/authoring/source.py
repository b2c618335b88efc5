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
import tokenize
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import StringIO
from itertools import pairwise
from pathlib import Path

from course_lib.authoring.kinds import CODE, EXERCISE_NEEDS, KINDS, MARKDOWN, OPTIONS

HEADER = re.compile(r"# %%(?P<markdown> \[markdown\])?(?P<options>( .*)?)$")
LIKE_A_HEADER = re.compile(r"#\s*%%")
PAIR = re.compile(r"\s+([a-z_]+)=(\"(?:[^\"\\]|\\.)*\"|[^\s\"]+)(?=\s|$)")
FOLDER_NAME = re.compile(r"(?P<number>\d\d)_(?P<topic>[a-z][a-z0-9_]*)")
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

    @property
    def minutes(self) -> float:
        return self.options["minutes"] if "minutes" in self.options else KINDS[self.kind].minutes

    @property
    def track(self) -> str:
        return self.options.get("track", "core")

    def numbered_lines(self) -> list[tuple[int, str]]:
        return list(zip(self.lines, self.text.split("\n"), strict=True))

    def with_lines(self, numbered: list[tuple[int, str]]) -> Cell:
        text, lines = "\n".join(line for _, line in numbered), tuple(number for number, _ in numbered)
        return replace(self, text=text, lines=lines)


@dataclass(frozen=True)
class Lesson:
    """A lesson source, read. `path` is how messages call the file, from the project's root."""

    path: str
    number: str
    topic: str
    sha256: str
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        return f"{self.number}_{self.topic}"

    @property
    def title(self) -> str:
        """The heading of the title cell, without hash and number."""
        text = next((cell.text for cell in self.cells if cell.kind == "title"), self.topic)
        return re.sub(r"^#\s*(\d\d\s*·)?\s*", "", text.split("\n")[0])

    @property
    def minutes(self) -> float:
        return sum(cell.minutes for cell in self.cells)

    def switch(self, name: str, default: bool) -> bool:
        """A switch of the title cell's header: `short`."""
        return next((cell.options[name] for cell in self.cells if name in cell.options), default)


def without_fences(text: str) -> str:
    """The text with spaces for every fenced code block, so that places in it stay the same."""
    return FENCED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def sources(root: Path) -> list[Path]:
    """Every lesson source of the course, in order."""
    return sorted((root / "notebooks" / "source").glob("*/lesson.py"))


def read_lesson(path: Path, root: Path) -> Lesson:
    """Read one source; its problems are raised together, each with file and line."""
    shown = path.relative_to(root).as_posix()
    name = FOLDER_NAME.fullmatch(path.parent.name)
    if not name:
        raise_all(shown, [LessonError(1, "a lesson's folder is called NN_topic, such as 08_query_key_value")])
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()  # read_text made every line end \n: Windows agrees
    return Lesson(shown, name["number"], name["topic"], digest, read_cells(shown, text))


def read_cells(path: str, text: str) -> tuple[Cell, ...]:
    """Cut the text at its `# %%` headers and read every cell."""
    lines = text.split("\n")  # splitlines would also cut at form feeds, where Python counts no line
    starts = [number for number, line in enumerate(lines, 1) if LIKE_A_HEADER.match(line)]
    cells, problems = [], []
    for number, line in enumerate(lines[: starts[0] - 1] if starts else lines, 1):
        if line.strip() and not line.startswith("#"):
            problems.append(LessonError(number, 'open a cell first, with a line like # %% kind="code"'))
            break
    for start, end in pairwise([*starts, len(lines) + 1]):
        try:
            cells.append(read_cell(start, lines[start - 1 : end - 1]))
        except LessonError as problem:
            problems.append(problem)
    raise_all(path, problems)
    return tuple(cells)


def read_cell(line: int, block: list[str]) -> Cell:
    """Read one cell: its header is the block's first line, which stands on `line` of the file."""
    header = HEADER.match(block[0])
    if not header:
        raise LessonError(line, 'a cell opens with # %% kind="..." or # %% [markdown] kind="..."')
    form = MARKDOWN if header["markdown"] else CODE
    options = read_options(line, header["options"])
    check_header(line, form, options)
    skipped = next((at for at, text in enumerate(block) if at and text.strip()), 1)
    first, body = line + skipped, "\n".join(block[skipped:]).rstrip()
    tree = parsed_python(first, body)
    if form == MARKDOWN and body:
        body, skipped = markdown_text(first, body, tree)
        first += skipped
    elif at := trailing_semicolon(body):
        reason = "hides an output in JupyterLab but not under nbval; end with `None` instead"
        raise LessonError(first + at - 1, f"a `;` at the end {reason}")
    if not body:
        raise LessonError(line, "the cell is empty; write something in it or take its header out")
    lines = tuple(range(first, first + body.count("\n") + 1))
    return Cell(options["kind"], form, line, body, lines, options)


def read_options(line: int, text: str) -> Options:
    """Read ` kind="text" minutes=5`: pairs of a name and a JSON value."""
    options: Options = {}
    try:
        if rest := PAIR.sub("", text).strip():
            raise ValueError(rest)
        pairs = [(name, json.loads(value)) for name, value in PAIR.findall(text)]
    except ValueError:
        example = 'kind="text" minutes=5 short=true'
        raise LessonError(
            line, f"cannot read `{text.strip()}`: write key=value pairs like {example}"
        ) from None
    for name, value in pairs:
        if name in options:
            raise LessonError(line, f"the option {name} is there twice")
        if name not in OPTIONS:
            raise LessonError(line, f"unknown option {name!r}{suggestion(name, OPTIONS)}")
        _, wants, accepts = OPTIONS[name]
        if not accepts(value):
            raise LessonError(line, f"{name} wants {wants}; it is {json.dumps(value)}")
        options[name] = value
    return options


def check_header(line: int, form: str, options: Options) -> None:
    """The cell's kind must be known, and must fit the cell's form and its other options."""
    kind = options.get("kind")
    if kind not in KINDS:
        what = f"unknown kind {kind!r}" if kind else "the cell has no kind"
        raise LessonError(line, what + suggestion(kind or "", KINDS))
    if form not in KINDS[kind].forms:
        right = "# %% [markdown]" if form == CODE else "# %%"
        raise LessonError(line, f'a {kind} cell is not {form}; open it with {right} kind="{kind}"')
    for name in options:
        if kind not in OPTIONS[name][0]:
            raise LessonError(line, f"the option {name} does not belong on a {kind} cell")
    if kind == "exercise" and (missing := [name for name in EXERCISE_NEEDS if name not in options]):
        raise LessonError(line, f"the exercise lacks {', '.join(missing)} in its header")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The rest of a message about an unknown word: what was probably meant, or all there is."""
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def parsed_python(line: int, body: str) -> ast.Module:
    """The cell as a syntax tree; a slip in it is told with the line of the file it stands on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an invalid escape such as "\s" is a slip too
            return ast.parse(body)
    except SyntaxError as error:
        raise LessonError(line + (error.lineno or 1) - 1, f"this is not Python: {error.msg}") from None


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


def trailing_semicolon(body: str) -> int:
    """The line (from 1) of the first `;` that ends a line of code, or 0."""
    after = (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)
    for token, following in pairwise(tokenize.generate_tokens(StringIO(body).readline)):
        if token.string == ";" and token.type == tokenize.OP and following.type in after:
            return token.start[0]
    return 0
