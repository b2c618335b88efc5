"""Numbers in prose that a cell of the same lesson prints: `{printed:CELL/LABEL}`.

    # %% kind="code" name="forced"
    print(f"general: {right} of {n} right")              # general: 81 of 92 right

    {printed:forced/general}      81      the first number after the label, on the label's line
    {printed:forced/general/2}    92      the second one
    {printed:forced}              81      the first number of all

The cell is found by its `name`. nbval compares its stored output with a new run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tools.authoring.cell_kinds import CODE, MARKDOWN
from tools.authoring.source import Cell, LessonError

PLACEHOLDER = re.compile(r"\{printed:(?P<what>[^{}\n]*)\}")
LIKE_A_PLACEHOLDER = re.compile(r"\{\s*print(?:ed|s)?\s*[:|][^}\n]*\}?", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.,])[+−-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?%?")


def misspelt_numbers(cells: Iterable[Cell]) -> Iterator[LessonError]:
    """Text that looks like a printed number but isn't valid."""
    for cell in cells:
        text = PLACEHOLDER.sub("", cell.text)
        if cell.form == MARKDOWN and (wrong := LIKE_A_PLACEHOLDER.search(text)):
            message = f"write a printed number as {{printed:CELL/LABEL}}, not as {wrong[0]}"
            yield LessonError(cell.line, message)


def named_outputs(cells: list[Cell], outputs: list[list[dict]]) -> dict[str, str]:
    """The printed text of each named code cell; empty if nbval does not compare the cell's output."""
    code = [cell for cell in cells if cell.form == CODE]
    texts = {}
    for cell, cell_outputs in zip(code, outputs, strict=True):
        if "name" in cell.options:
            compared = not cell.options.get("ignore_output")
            texts[cell.options["name"]] = printed_text(cell_outputs) if compared else ""
    return texts


def printed_text(outputs: list[dict]) -> str:
    """The plain text of a cell's outputs."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join("".join(text) for text in texts)


def fill_printed(cell: Cell, outputs: Mapping[str, str]) -> str:
    """The text of a Markdown cell with its printed numbers; raises if one can't be found."""

    def number(match: re.Match[str]) -> str:
        name, _, label = match["what"].partition("/")
        label, _, position = label.partition("/")
        line = cell.line_at(match.start()) if cell.lines else cell.line
        if name not in outputs:
            names = ", ".join(outputs) or 'none (add name="…" to the header of a code cell)'
            raise LessonError(line, f"{match[0]}: no code cell is called {name!r}; named cells: {names}")
        lines = [text for text in outputs[name].splitlines() if label in text]
        if not lines:
            raise LessonError(
                line, f"{match[0]}: the cell {name!r} doesn't print {label!r}, or its output is not compared"
            )
        numbers = NUMBER.findall(lines[0].partition(label)[2] if label else lines[0])
        index = int(position) - 1 if position.isdecimal() else 0 if not position else -1
        if not 0 <= index < len(numbers):
            raise LessonError(line, f"{match[0]}: there are only {len(numbers)} numbers after {label!r}")
        return numbers[index]

    return PLACEHOLDER.sub(number, cell.text) if cell.form == MARKDOWN else cell.text
