r"""How long a cell takes a beginner, computed from what is in it.

    >>> words("The **softmax** turns scores into weights: $e^{x}$.")
    8

A cell's header may override the computed minutes, with a reason: `minutes=8 because="a live training run"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tools.authoring.cell_kinds import CODE, CORE
from tools.authoring.exercise_cells import split_solution
from tools.authoring.source import FENCED, Cell, without_fences
from tools.authoring.tracks import OPENS_EXPLORABLE

WORDS_A_MINUTE = 130  # a beginner reading dense technical prose
CODE_LINES_A_MINUTE = 10
FORMULA = 0.5  # a displayed formula, besides the words around it
TABLE_ROW = 0.05
LEAST = 0.5  # no cell takes less
EXPLORABLE = 3.0
FIGURE = 0.5
THINKING = {"predict": 1.0, "estimate": 1.5, "explain": 4.0, "quiz": 0.5}  # for each question
RECALL = 3.0
TRAINING = 1.0
EXERCISE = {1: 2.0, 2: 3.0, 3: 12.0, 4: 17.0, 5: 48.0}  # by difficulty; from 3, as readers expect
SOLUTION_LINE = 0.4
HINTS_READ = 0.5  # a fraction: most learners open the first hints only

FORMULAS = re.compile(r"\$\$.*?\$\$", re.DOTALL)
NOT_READ = re.compile(r"<[^>]+>|\]\([^)]*\)|\|[ :|-]+\||\{(?:result|printed):[^{}]*\}")
WORD = re.compile(r"[^\W_]+(?:[’'.,-][^\W_]+)*")
ASKS = re.compile(
    r'\b(?P<call>predict|estimate|explain|quiz)\("\d\d", "(?P<name>[\w-]+)"(?P<rest>.*)', re.DOTALL
)


def words(text: str) -> int:
    """How many words a text has, without displayed formulas, code blocks and addresses."""
    return len(WORD.findall(NOT_READ.sub(" ", without_fences(FORMULAS.sub(" ", text)))))


def with_minutes(cells: Iterable[Cell], quiz: Path) -> tuple[Cell, ...]:
    """The cells, each with its computed minutes. `quiz` is the lesson's quiz.json."""
    questions, short = question_words(quiz), question_words(quiz, short=True)
    return tuple(
        replace(cell, computed=minutes(cell, questions), computed_short=minutes(cell.for_short_track, short))
        for cell in cells
    )


def question_words(quiz: Path, *, short: bool = False) -> dict[tuple[str, str], list[int]]:
    """The words of each question of a quiz.json, by the call and the name that ask it."""
    found: dict[tuple[str, str], list[int]] = {}
    try:
        content = json.loads(quiz.read_text(encoding="utf-8"))
        for call, key in (("predict", "predictions"), ("estimate", "estimates"), ("explain", "explanations")):
            for question in content.get(key, ()):
                found[call, question["id"]] = [_words_of(question)]
        for question in content["questions"]:
            if short and question.get("track") == CORE:
                continue
            found.setdefault(("quiz", question["use"]), []).append(_words_of(question))
    except (OSError, ValueError, KeyError, TypeError):  # the builder reports what is wrong with the file
        return {}
    return found


def _words_of(question: dict) -> int:
    """The words a learner reads in a question: its text, its options and one option's feedback."""
    options = [
        option if isinstance(option, str) else option["text"] for option in question.get("options", ())
    ]
    feedback = question.get("because") or question.get("feedback") or question.get("model") or ""
    return sum(map(words, [question["text"], *options, str(feedback)]))


def minutes(cell: Cell, questions: dict[tuple[str, str], list[int]]) -> float:
    """The minutes of one cell, to a tenth."""
    if cell.kind == "instructor":
        return 0.0
    if cell.kind == "exercise":
        return exercise_minutes(cell)
    if cell.kind in ("recall", "check", "setup"):
        return RECALL if cell.kind == "recall" else LEAST
    taken = code_minutes(cell, questions) if cell.form == CODE else text_minutes(cell)
    return round(max(LEAST, taken), 1)


def text_minutes(cell: Cell) -> float:
    text = cell.text
    rows = len(re.findall(r"^\|", text, re.MULTILINE))
    taken = words(text) / WORDS_A_MINUTE + FORMULA * len(FORMULAS.findall(text)) + TABLE_ROW * rows
    taken += sum(fence[0].count("\n") - 1 for fence in FENCED.finditer(text)) / CODE_LINES_A_MINUTE
    return taken * HINTS_READ if cell.kind == "hints" else taken


def code_minutes(cell: Cell, questions: dict[tuple[str, str], list[int]]) -> float:
    shown = not cell.options.get("hide_input")
    taken = len(code_lines(cell.text)) / CODE_LINES_A_MINUTE if shown else 0.0
    taken += {"train": TRAINING, "see": FIGURE, "picture": FIGURE}.get(cell.kind, 0.0)
    for match in ASKS.finditer(cell.text):
        asked = questions.get((match["call"], match["name"]), [0])
        taken += sum(asked) / WORDS_A_MINUTE + THINKING[match["call"]] * len(asked)
        if match["call"] == "predict":
            taken += EXPLORABLE if OPENS_EXPLORABLE.match(match["rest"]) else FIGURE
    return taken


def code_lines(text: str) -> list[str]:
    """The lines of code that a reader reads: no blank ones, no comments alone on a line."""
    return [line for line in text.split("\n") if line.strip() and not line.strip().startswith("#")]


def exercise_minutes(cell: Cell) -> float:
    """By difficulty and by the lines to write; reading the given code counts as well."""
    stub, solved = split_solution(cell)
    given = set(stub.lines)
    written = code_lines("\n".join(text for line, text in solved.numbered_lines() if line not in given))
    reading = len(code_lines(stub.text)) / CODE_LINES_A_MINUTE
    n_written = cell.options.get("lines", len(written))  # of a file, which isn't in the cell
    return round(EXERCISE[cell.options["difficulty"]] + SOLUTION_LINE * n_written + reading, 1)
