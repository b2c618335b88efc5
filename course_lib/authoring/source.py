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
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from itertools import pairwise
from pathlib import Path

from course_lib.authoring.cells import CODE, EXERCISE_NEEDS, KINDS, MARKDOWN, OPTIONS
from course_lib.authoring.problem import LessonError, raise_all

HEADER = re.compile(r"# %%(?P<markdown> \[markdown\])?(?P<options>( .*)?)$")
LIKE_A_HEADER = re.compile(r"#\s*%%")
FOLDER_NAME = re.compile(r"(?P<number>\d\d)_(?P<topic>[a-z][a-z0-9_]*)")


@dataclass(frozen=True)
class Cell:
    """One cell of the source. `lines[i]` is the line of the file that `text`'s line i stands on."""

    kind: str
    form: str
    line: int
    text: str
    lines: tuple[int, ...]
    options: dict[str, str | int | float | bool]

    @property
    def minutes(self) -> float:
        return self.options.get("minutes", KINDS[self.kind].minutes)

    @property
    def track(self) -> str:
        return self.options.get("track", "core")


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
        titles = [cell.text for cell in self.cells if cell.kind == "title"]
        return re.sub(r"^#\s*(\d\d\s*·)?\s*", "", titles[0].split("\n")[0]) if titles else self.topic

    @property
    def short(self) -> bool:
        """Whether the title cell excuses the lesson from the full length and anatomy (lesson 00)."""
        return any(cell.options.get("short", False) for cell in self.cells)

    @property
    def minutes(self) -> float:
        return sum(cell.minutes for cell in self.cells)


def read_lesson(path: Path, root: Path) -> Lesson:
    """Read one source; its problems are raised together, each with file and line."""
    shown = path.relative_to(root).as_posix()
    name = FOLDER_NAME.fullmatch(path.parent.name)
    if not name:
        raise_all([LessonError(shown, 1, "a lesson's folder is called NN_topic, such as 08_query_key_value")])
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise_all([LessonError(shown, 1, "the file is not UTF-8 text; save it as UTF-8")])
    digest = hashlib.sha256(text.encode()).hexdigest()  # read_text made every line end \n: Windows agrees
    return Lesson(shown, name["number"], name["topic"], digest, read_cells(shown, text))


def read_cells(path: str, text: str) -> tuple[Cell, ...]:
    """Cut the text at its `# %%` headers and read every cell."""
    lines = text.split("\n")  # splitlines would also cut at form feeds, where Python counts no line
    starts = [number for number, line in enumerate(lines, 1) if LIKE_A_HEADER.match(line)]
    problems = []
    for number, line in enumerate(lines[: starts[0] - 1] if starts else lines, 1):
        if line.strip() and not line.startswith("#"):
            problems.append(
                LessonError(
                    path,
                    number,
                    'before the first cell only comments may stand; open one with # %% kind="..."',
                )
            )
            break
    cells = []
    for start, end in pairwise([*starts, len(lines) + 1]):
        try:
            cells.append(read_cell(path, start, lines[start - 1 : end - 1]))
        except LessonError as problem:
            problems.append(problem)
    if not starts:
        problems.append(LessonError(path, 1, 'there is no cell; open one with a line like # %% kind="code"'))
    raise_all(problems)
    return tuple(cells)


def read_cell(path: str, line: int, block: list[str]) -> Cell:
    """Read one cell: its header is the block's first line, which stands on `line` of the file."""
    header = HEADER.match(block[0])
    if not header:
        raise LessonError(
            path, line, f'a cell opens with # %% kind="..." or # %% [markdown] kind="...", not {block[0]!r}'
        )
    form = MARKDOWN if header["markdown"] else CODE
    options = read_options(path, line, header["options"])
    kind = checked_kind(path, line, options, form)
    first = next((i for i, text in enumerate(block[1:], 1) if text.strip()), None)
    if first is None:
        raise LessonError(path, line, "the cell is empty; write something in it or take its header out")
    body = "\n".join(block[first:]).rstrip()
    tree = parsed_python(path, line + first, body)
    if form == MARKDOWN:
        body, skipped = markdown_text(path, line + first, body, tree)
        first += skipped
    elif semicolon := trailing_semicolon(body):
        raise LessonError(
            path,
            line + first + semicolon - 1,
            "a `;` at the end hides an output in JupyterLab but not under nbval; end with `None` instead",
        )
    count = len(body.split("\n"))
    return Cell(kind, form, line, body, tuple(range(line + first, line + first + count)), options)


def read_options(path: str, line: int, text: str) -> dict[str, str | int | float | bool]:
    """Read ` kind="text" minutes=5`: pairs of a name and a JSON value."""
    options, position = {}, 0
    while text[position:].strip():
        pair = re.compile(r"\s+([a-z_]+)=").match(text, position)
        try:
            if not pair:
                raise ValueError
            value, position = json.JSONDecoder().raw_decode(text, pair.end())
        except ValueError:
            raise LessonError(
                path,
                line,
                f"cannot read the option at `{text[position:].strip()}`: write key=value with a JSON value, "
                'such as kind="text" minutes=5 short=true',
            ) from None
        name = pair[1]
        if name in options:
            raise LessonError(path, line, f"the option {name} is there twice")
        if name not in OPTIONS:
            raise LessonError(path, line, f"unknown option {name!r}{suggestion(name, OPTIONS)}")
        if not OPTIONS[name].accepts(value):
            raise LessonError(path, line, f"{name} wants {OPTIONS[name].wants}; it is {json.dumps(value)}")
        options[name] = value
    return options


def checked_kind(path: str, line: int, options: dict[str, str | int | float | bool], form: str) -> str:
    """The cell's kind, once it is known and fits the cell's form and its other options."""
    kind = options.get("kind")
    if kind is None:
        raise LessonError(
            path, line, f'the cell has no kind; write kind="..." with one of {", ".join(KINDS)}'
        )
    if kind not in KINDS:
        raise LessonError(path, line, f"unknown kind {kind!r}{suggestion(kind, KINDS)}")
    if form not in KINDS[kind].forms:
        right = '# %% [markdown] kind="{}"' if form == CODE else '# %% kind="{}"'
        raise LessonError(path, line, f"a {kind} cell is not {form}; open it with {right.format(kind)}")
    for name in options:
        if kind not in OPTIONS[name].kinds:
            raise LessonError(path, line, f"the option {name} does not belong on a {kind} cell")
    missing = [name for name in EXERCISE_NEEDS if name not in options] if kind == "exercise" else []
    if missing:
        raise LessonError(path, line, f"the exercise lacks {', '.join(missing)} in its header")
    if kind == "exercise" and options["minutes"] <= 0:
        raise LessonError(path, line, "an exercise takes time; give it minutes above 0")
    return kind


def suggestion(word: str, known: dict) -> str:
    """The rest of a message about an unknown word: what was probably meant, or all there is."""
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def parsed_python(path: str, line: int, body: str) -> ast.Module:
    """The cell as a syntax tree; a slip in it is told with the line of the file it stands on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an invalid escape such as "\s" is a slip too
            return ast.parse(body)
    except SyntaxError as error:
        raise LessonError(path, line + (error.lineno or 1) - 1, f"this is not Python: {error.msg}") from None


def markdown_text(path: str, line: int, body: str, tree: ast.Module) -> tuple[str, int]:
    """The text inside a Markdown cell's string, and on which of the cell's lines it begins."""
    match tree.body:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            pass
        case _:
            raise LessonError(path, line, 'a Markdown cell holds one string and nothing else: """ text """')
    if "\\" in body and not body.startswith(("r", "R")):
        at = body[: body.index("\\")].count("\n")
        raise LessonError(
            path, line + at, 'a backslash in a plain string turns \\t of \\tau into a tab; write r"""'
        )
    kept = text.strip()
    if not kept:
        raise LessonError(path, line, "the cell is empty; write something in it or take its header out")
    return kept, tree.body[0].lineno - 1 + text[: text.index(kept)].count("\n")


def trailing_semicolon(body: str) -> int:
    """The line (from 1) of the first `;` that ends a line of code, or 0."""
    tokens = list(tokenize.generate_tokens(StringIO(body).readline))
    after = (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)
    for token, following in pairwise(tokens):
        if token.string == ";" and token.type == tokenize.OP and following.type in after:
            return token.start[0]
    return 0
