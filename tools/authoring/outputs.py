"""The rules for stored outputs: complete, small, identical on every machine, no kernel or network needed.

lessons/l08_query_key_value/lesson.py:56: the output contains a memory address: 0x7f3a5c0b2d10
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from course_lib.explore.live_view import WIDGET_VIEW
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import FULL
from tools.authoring.cell_kinds import CODE
from tools.authoring.editions import as_text
from tools.authoring.source import Cell, LessonError

LARGEST_OUTPUT = 300_000  # bytes, as stored
LARGEST_NOTEBOOK = 1_000_000

FOLDERS = "home|Users|root|tmp|var|usr|opt|etc|mnt|srv|private|proc|dev|media|Volumes|Library|Applications"
FORBIDDEN = [
    ("an absolute path", re.compile(rf"{re.escape(str(PROJECT_ROOT))}|(?<![\w.~/:])/(?:{FOLDERS})/[\w.]\S*")),
    # Upper case and a second part, because `f:\mathbb{R}` in a formula is not a drive.
    ("an absolute path", re.compile(r"(?<!\w)[A-Z]:(?:\\+[\w .-]+(?:\\|\.\w)|[\\/]+(?:Users|Windows)\b)\S*")),
    ("a file URL", re.compile(r"file://\S*")),
    ("a memory address", re.compile(r"\b0x[0-9a-fA-F]{6,}\b")),
    ("a progress bar", re.compile(r"\d%\|.*?\|.*|\d(?:it/s|s/it)\b|\r(?!\n)")),
    # torch prints `1.` or `1.0000` depending on the last bit of a sum; Python prints every digit.
    ("a tensor as torch prints it (use `fixed`)", re.compile(r"\btensor\([^()]*?\d\.[^()]*")),
    ("a number with all its digits (use `fixed`)", re.compile(r"(?<![\w.])\d+\.\d{9,}\b")),
    ("a timing", re.compile(r"\b(?:Wall time|CPU times):.*")),
]
# Cells whose output depends on data/lessons.json and on quiz.json files, including those of earlier lessons.
EXTERNAL_CALL = re.compile(r'(?P<call>quiz|explain|road_map)\((?:"(?P<lesson>\d\d)", "(?P<name>[\w-]+)")?\)')
# What a browser would fetch to show Markdown or HTML. Links are allowed.
FETCHED = re.compile(
    r"(?:!\[[^\]]*\]\(\s*<?"  # ![alt](...)
    r"|\b(?:src|srcset|poster|data)\s*=\s*[\"']?\s*"  # <img src=...>, <script src=...>
    r"|<link\b[^>]*\bhref\s*=\s*[\"']?\s*"
    r"|\burl\(\s*[\"']?"  # in a style sheet
    r"|@import\s+[\"']"
    r"|\b(?:from|import)\s*\(?\s*[\"'])"  # in a script
    r"(?P<address>(?:https?:)?//[^\s\"'<>)\]]+)",
    re.IGNORECASE,
)


def clean_outputs(outputs: list[dict]) -> list[dict]:
    """A cell's outputs without widget views and transient data, and with each stream joined.

    A saved widget view reopens as "model not found"; the still picture beside it stays. A stream may arrive
    in any number of pieces, and nbval compares it as a whole. nbclient can also join them, but takes minutes
    for a long line, because its pattern for `\\r` is quadratic.
    """
    stored, streams = [], {}
    for output in outputs:
        output.pop("transient", None)
        output.get("data", {}).pop(WIDGET_VIEW, None)
        if output.get("name") in streams:
            streams[output["name"]]["text"] += output["text"]
        elif output.get("data") != {}:
            stored.append(output)
            if output["output_type"] == "stream":
                streams[output["name"]] = output
    return stored


def check_outputs(cells: list[Cell], notebook: dict) -> list[LessonError]:
    """Every problem in an executed notebook, with the source line of its cell."""
    problems = []
    pairs = zip(cells, notebook["cells"], strict=True)
    code = [(cell.line, stored) for cell, stored in pairs if cell.form == CODE]
    for count, (line, stored) in enumerate(code, 1):
        if stored["execution_count"] != count:
            message = f"the stored cell has execution count {stored['execution_count']}, not {count}"
            problems.append((line, message))
        problems += [(line, message) for output in stored["outputs"] for message in output_problems(output)]
    size = len(as_text(notebook).encode())
    if size > LARGEST_NOTEBOOK:
        limit = f"but the limit is {LARGEST_NOTEBOOK:,}; draw fewer or smaller pictures"
        problems.append((1, f"the notebook takes {size:,} bytes, {limit}"))
    return [LessonError(line, message) for line, message in dict.fromkeys(problems)]


def outdated(cells: list[Cell], notebook: dict, track: str = FULL) -> Iterator[LessonError]:
    """Quizzes, explanations and road maps whose stored output is outdated.

    It depends on files other than the lesson's source: quiz.json, also of earlier lessons, and
    data/lessons.json.
    """
    from IPython.core.formatters import DisplayFormatter  # these take a while to load

    from course_lib.teaching import explain
    from course_lib.teaching.questions.quiz import Quiz, choose_questions
    from course_lib.teaching.track import RoadMap

    calls = {
        "quiz": lambda lesson, use: Quiz(
            lesson, use, choose_questions(lesson, use, track)
        ),  # of a new learner
        "explain": explain,
        "road_map": lambda *_: RoadMap(track),
    }
    for cell, stored in zip(cells, notebook["cells"], strict=True):
        if not (call := EXTERNAL_CALL.fullmatch(cell.text)):
            continue
        try:
            result = calls[call["call"]](call["lesson"], call["name"])
        except (KeyError, ValueError) as error:  # a broken quiz.json, or a question that was removed
            yield LessonError(cell.line, f"`{cell.text}` fails: {error}")
            continue
        now, then = DisplayFormatter().format(result)[0], stored["outputs"][0]["data"]
        if any(now.get(mime) != then.get(mime) for mime in ("text/html", "text/markdown")):
            yield LessonError(cell.line, f"the stored output of `{cell.text}` is out of date")


def output_problems(output: dict) -> Iterator[str]:
    if output["output_type"] == "error":
        yield f"the stored output is an error: {output['ename']}: {output['evalue']}"
    if output.get("name") == "stderr":
        yield f"the cell writes to stderr: {excerpt(output['text'])}"
    size = len(json.dumps(output, ensure_ascii=False).encode())
    if size > LARGEST_OUTPUT:
        limit = f"the limit is {LARGEST_OUTPUT:,}; show less, or draw it smaller"
        yield f"the output takes {size:,} bytes, but {limit}"
    if WIDGET_VIEW in output.get("data", {}):
        yield "the output contains a widget view, which reopens as an error; build the notebook again"
    for text in texts_in(output):
        for description, pattern in FORBIDDEN:
            if match := pattern.search(text):
                yield f"the output contains {description}: {excerpt(match[0])}"
        if match := FETCHED.search(text):
            yield f"the output would fetch something from the network: {excerpt(match['address'])}"


def texts_in(output: dict) -> Iterator[str]:
    """Every text in an output that a reader or a browser reads as text, which excludes a picture's bytes."""
    yield output.get("text", "")
    for mime, content in output.get("data", {}).items():
        if mime == "image/svg+xml" or not mime.startswith("image/"):
            yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def excerpt(text: str, length: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
