"""Explorables drawn as SVG, alive in the page: all their states as differences of one picture.

    >>> tokens_of("<g><path/>a</g>")
    ['<g>', '<path/>a', '</g>']

With more than `MOST` states, only the main control moves. static/live_figure.js shows the states, with the
code that also moves the picture in JupyterLab (course_lib/explore/live.js).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import product
from typing import Any

from course_lib.explore.base import Explorable
from course_lib.explore.control import Control, Point
from course_lib.teaching.questions.question import Question
from tools.site.quizzes import as_script_json

MOST = 60  # states that a page carries
HANDLE = re.compile(r"<[^>]*data-drag[^>]*>")  # dragging needs a kernel
HELD = re.compile(r' (?:data-drag|data-box|data-step|role|tabindex|aria-\w+)="[^"]*"')


def live_html(kind: type[Explorable], asked: Question | None, main: Control) -> str:
    """The picture as it is at the start, its controls, and every state; for a prediction, of its preset."""
    start = kind.start | (kind.presets[asked.preset] if asked and asked.preset else {})
    moving = [control for control in kind.controls if not isinstance(control, Point)]
    if len(list(product(*(control.values for control in moving)))) > MOST:
        moving = [main]
    pictures = {}
    for values in product(*(control.values for control in moving)):
        state = start | {control.name: value for control, value in zip(moving, values, strict=True)}
        picture = kind.picture_of(kind.facts_at(state))
        pictures[values] = HANDLE.sub(lambda found: HELD.sub("", found[0]), picture.svg), picture.alt
    first = tuple(start[control.name] for control in moving)
    tokens = tokens_of(pictures[first][0])
    data = {
        "tokens": tokens,
        "states": list(as_differences(tokens, list(pictures.values()), len(moving[-1].values))),
        "start": [list(control.values).index(value) for control, value in zip(moving, first, strict=True)],
        "controls": [
            {
                "name": control.name,
                "label": control.label,
                "values": list(control.values),
                "texts": [control.text_of(value) for value in control.values],
            }
            for control in moving
        ],
        "play": kind.play if kind.play in (control.name for control in moving) else "",
    }
    others = [f"“{escape(control.label)}”" for control in kind.controls if control not in moving]
    more = f"<p>In the notebook, you can also change {' and '.join(others)}.</p>" if others else ""
    return (
        f'<figure class="course-live-figure"><p class="course-sweep-question">{escape(kind.question)}</p>'
        f'<div class="course-live-controls"></div><div class="course-stage">{pictures[first][0]}</div>'
        '<figcaption aria-live="polite" class="course-announcement">'
        f"{escape(pictures[first][1])}</figcaption>"
        f"{more}{as_script_json(data)}</figure>"
    )


def as_differences(
    first: list[str], pictures: list[tuple[str, str]], row: int
) -> Iterator[tuple[int, list[list[Any]], str]]:
    """For each picture the number of another one, what changes from there, and the alt text.

    The other one is the one before, or the one a row before, or the first picture (−1): the most similar.
    """
    found = [tokens_of(svg) for svg, _ in pictures]
    for i, (_, alt) in enumerate(pictures):
        bases = {n: found[n] for n in (i - 1, i - row) if n >= 0} | {-1: first}
        changes = {n: difference(base, found[i]) for n, base in bases.items()}
        nearest = min(changes, key=lambda n: len(str(changes[n])))
        yield nearest, changes[nearest], alt


def tokens_of(svg: str) -> list[str]:
    """Each tag, with the text behind it."""
    return re.findall(r"<[^>]*>[^<]*", svg)


def difference(before: list[str], after: list[str]) -> list[list[Any]]:
    """What to replace, from the end to the beginning: [[from, how many, tokens], ...].

    Where as many come as go, a token is written as what differs: letters kept at its start, at its end, new.

    >>> difference(['<rect x="1"/>', "</g>"], ['<rect x="25"/>', "</g>"])
    [[0, 1, [[9, 3, '25']]]]
    """
    changes = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            pairs = zip(before[i:j], after[k:m], strict=False)
            changes.append([i, j - i, [middle(*pair) for pair in pairs] if j - i == m - k else after[k:m]])
    return changes[::-1]


def middle(old: str, new: str) -> list[Any]:
    start = n_common(old, new)
    end = n_common(old[start:][::-1], new[start:][::-1])
    return [start, end, new[start : len(new) - end]]


def n_common(one: str, other: str) -> int:
    """How many letters two texts have in common at the start."""
    different = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(different, min(len(one), len(other)))
