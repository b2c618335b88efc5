"""A small style check of everything users read: patterns that a native speaker would not write.

    >>> [problem.found for problem in style_problems("Whoever trains it pays.")]
    ['Whoever']

The rules are few, so that a hit is nearly always worth a change. A line that needs one of these phrases, such
as a quotation, ends in `<!-- style: ok -->` in Markdown or `# style: ok` in Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.authoring.cell_kinds import MARKDOWN
from tools.authoring.source import read_cells, spaces, without_fences

RULES = {  # a pattern, and what to write instead
    r"whoever": "say who: the learner, you, the author",
    r"in place of": "instead of",
    r"trainings": "runs",
    r"shall": "will, must or should",
    r"stands? (?:in|above|below|beside|behind|there)": "is, or a verb that says more",
    r"hangs? (?:on|together)": "depends on, or belongs together",
    r"of like \w+": "of similar …",
    r"otherwise than": "differently from, or not … but",
    r"goes on (?:from|where|there)": "continues",
    r"begins? anew": "starts again",
    r"is no more(?! than)": "no longer exists",
    r"(?:a|one) \w+ too many": "an extra …",
    r"is dear|are dear|dearer": "expensive",
    r"by lot": "at random",
    r"undecided|inconclusive|ranges (?:overlap|almost touch)|(?:is|are|was) ahead of": (
        "better, worse or no clear difference: the rule of course_lib/translation/comparison.py"
    ),
}
PATTERN = re.compile("|".join(rf"(?P<rule{i}>\b(?:{rule})\b)" for i, rule in enumerate(RULES)), re.IGNORECASE)
EXCUSED = re.compile(r"(?:<!--|#) style: ok")


class StyleProblem(NamedTuple):
    """A phrase, its line in the text, and what to write instead."""

    line: int
    found: str
    advice: str


def style_problems(text: str) -> Iterator[StyleProblem]:
    """Every hit in a Markdown text, code excepted."""
    prose = re.sub(r"`[^`\n]+`", spaces, without_fences(text))
    for number, line in enumerate(prose.split("\n"), 1):
        if line.startswith("    ") or EXCUSED.search(line):  # an indented line is code
            continue
        for match in PATTERN.finditer(line):
            advice = list(RULES.values())[int(match.lastgroup.removeprefix("rule"))]
            yield StyleProblem(number, match[0], advice)


def file_problems(path: Path) -> list[str]:
    """The hits in a Markdown file, a quiz, a lesson, or the strings of a Python file, with file and line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".md", ".json"):
        lines = text if path.suffix == ".md" else re.sub(r"^ +", "", text, flags=re.M)
        problems = list(style_problems(lines))
    elif path.name == "lesson.py" and path.parent.name.startswith("l"):
        problems = [
            problem._replace(line=cell.lines[problem.line - 1])
            for cell in read_cells(text)
            if cell.form == MARKDOWN
            for problem in style_problems(cell.text)
        ]
    else:
        lines = text.split("\n")
        problems = [
            problem._replace(line=node.lineno + problem.line - 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not EXCUSED.search(lines[node.end_lineno - 1])
            for problem in style_problems(node.value)
        ]
    return [f"{path}:{line}: {found!r}; write: {advice}" for line, found, advice in problems]
