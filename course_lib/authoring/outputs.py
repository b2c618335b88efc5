"""The rules for stored outputs: whole, small, the same on every machine, readable without a kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from course_lib.authoring.built import BuiltCell
from course_lib.authoring.cells import CODE
from course_lib.authoring.notebook import as_text
from course_lib.authoring.offline import remote_address
from course_lib.authoring.problem import LessonError
from course_lib.runtime import PROJECT_ROOT

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LARGEST_OUTPUT = 300_000  # bytes, as stored
LARGEST_NOTEBOOK = 1_000_000

FOLDERS = "home|Users|root|tmp|var|usr|opt|etc|mnt|srv|private|proc|dev|media|Volumes|Library|Applications"
TELLTALES = [
    ("an absolute path", re.compile(rf"(?<![\w.~/:])/(?:{FOLDERS})/[\w.]\S*")),
    # Upper case and a second part: `f:\mathbb{R}` in a formula is no drive.
    ("an absolute path", re.compile(r"(?<!\w)[A-Z]:(?:\\+[\w .-]+(?:\\|\.\w)|[\\/]+(?:Users|Windows)\b)\S*")),
    ("a file address", re.compile(r"file://\S*")),
    ("a memory address", re.compile(r"\b0x[0-9a-fA-F]{6,}\b")),
    ("a progress bar", re.compile(r"\d%\|.*?\|.*|\d(?:it/s|s/it)\b|\r(?!\n)")),
    # torch prints `1.` or `1.0000` by the last bit of a sum, Python every digit it has.
    ("a tensor as torch prints it (take `fixed`)", re.compile(r"\btensor\([^()]*?\d\.[^()]*")),
    ("a number with all its digits (take `fixed`)", re.compile(r"(?<![\w.])\d+\.\d{9,}\b")),
    ("a timing", re.compile(r"\b(?:Wall time|CPU times):.*")),
]


def strip_outputs(notebook: dict) -> None:
    """Take out what only lives as long as its kernel.

    A saved widget view reopens as "model not found"; the still picture beside it stays.
    """
    notebook["metadata"].pop("widgets", None)
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)
        for output in cell.get("outputs", []):
            output.pop("transient", None)
            output.get("data", {}).pop(WIDGET_VIEW, None)
            output.get("metadata", {}).pop(WIDGET_VIEW, None)
        if "outputs" in cell:
            cell["outputs"] = with_streams_joined(
                [output for output in cell["outputs"] if output.get("data") != {}]
            )


def with_streams_joined(outputs: list[dict]) -> list[dict]:
    """All that a cell printed in one piece, as nbval compares it: where a print is cut is chance.

    (nbclient can do this too, in minutes where a line is long: its pattern for `\\r` is quadratic.)
    """
    joined: list[dict] = []
    streams: dict[str, dict] = {}
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
            continue
        if output["output_type"] == "stream":
            streams[output["name"]] = output
        joined.append(output)
    return joined


def check_outputs(path: str, cells: list[BuiltCell], notebook: dict) -> list[LessonError]:
    """Every breach in an executed notebook, with the source line of the cell that made it."""
    found = []
    count = 0
    for cell, stored in zip(cells, notebook["cells"], strict=True):
        if cell.form != CODE:
            continue
        count += 1
        if stored["execution_count"] != count:
            found.append(
                (cell.line, f"the stored cell has execution count {stored['execution_count']}, not {count}")
            )
        for output in stored["outputs"]:
            found += [(cell.line, message) for message in output_slips(output)]
    size = len(as_text(notebook).encode())
    if size > LARGEST_NOTEBOOK:
        message = f"the notebook takes {size:,} bytes, at most {LARGEST_NOTEBOOK:,}"
        found.append((1, f"{message}; draw fewer or smaller pictures"))
    return [LessonError(path, line, message) for line, message in dict.fromkeys(found)]


def output_slips(output: dict) -> Iterator[str]:
    """What is wrong with one output."""
    if output["output_type"] == "error":
        yield f"the stored output is an error: {output['ename']}: {output['evalue']}"
        return
    if output.get("name") == "stderr":
        yield f"the cell writes to stderr: {excerpt(output['text'])}"
    size = len(json.dumps(output, ensure_ascii=False).encode())
    if size > LARGEST_OUTPUT:
        yield f"the output takes {size:,} bytes, at most {LARGEST_OUTPUT:,}; show less or draw it smaller"
    if WIDGET_VIEW in output.get("data", {}):
        yield "the output holds a widget view, which reopens as an error; build the notebook again"
    for text in texts(output):
        for what, pattern in TELLTALES:
            if match := pattern.search(text):
                yield f"the output holds {what}: {excerpt(match[0])}"
        if str(PROJECT_ROOT) in text:
            yield "the output holds an absolute path: the folder of this project"
        if address := remote_address(text):
            yield f"the output would fetch something from the network: {excerpt(address)}"


def texts(output: dict) -> Iterator[str]:
    """Every text in an output that a reader or a browser takes as text."""
    if "text" in output:
        yield output["text"]
    for mime, content in output.get("data", {}).items():
        if not isinstance(content, str):
            yield json.dumps(content, ensure_ascii=False)
        elif mime == "image/svg+xml" or not mime.startswith("image/"):
            yield content
    yield json.dumps(output.get("metadata", {}), ensure_ascii=False)


def excerpt(text: str, length: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
