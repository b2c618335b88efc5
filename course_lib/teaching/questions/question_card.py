"""What the question cards of a notebook share: the page asks, the kernel marks.

    class Quiz(QuestionCard):
        _esm = script("quiz.js")        # a card sends what was clicked or typed, and gets its `state`

Each card also has static HTML without styles and scripts, for GitHub, a printed page, or a notebook that
hasn't been run yet, because every viewer's sanitiser removes something. Formulas stay LaTeX between
dollars there, since JupyterLab removes MathML from a notebook it doesn't trust, but typesets LaTeX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course_lib import theme
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import Question

STATIC = Path(__file__).with_name("static")
STYLE = theme.PAGE_STYLE + (STATIC / "card.css").read_text(encoding="utf-8")  # the page's pictures need both
static_html = partial(inline_html, mathml=False)


def script(name: str) -> str:
    """A card's script, after what all cards share: it is one module and cannot import others."""
    return "\n".join((STATIC / part).read_text(encoding="utf-8") for part in ("card.js", name))


class QuestionCard(anywidget.AnyWidget):
    """`payload` is the question, `state` what the page was sent since; `receive` gets what the page sends."""

    _css = STYLE
    _ipython_display_ = None  # ipywidgets 7 has one, which would show the widget without its static HTML

    payload = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, payload: dict[str, Any], receive: Callable[[dict[str, Any]], None]):
        super().__init__(payload=payload)
        self.replies = count(1)  # a number in each reply, so that the page notices an identical one too
        self.on_msg(lambda widget, content, buffers: receive(content))


def question_html(question: Question, to_html: Callable[[str], str] = static_html, *, title: str = "") -> str:
    """The question and its options as static HTML."""
    head = f"<strong>{title}</strong> " if title else ""
    options = "".join(f"<li>{to_html(option.text)}</li>" for _, _, option in question.shown)
    return f"<p>{head}{to_html(question.text)}</p>" + (f'<ol type="A">{options}</ol>' if options else "")


def question_payload(question: Question) -> dict[str, Any]:
    """What the page needs to ask: texts as safe HTML, options in shown order. No right answer is sent."""
    return {
        "id": question.id,
        "kind": question.kind,
        "text": inline_html(question.text),
        "unit": inline_html(question.unit),
        "reread": question.reread,  # set as text by the page
        "options": [
            {"index": index, "letter": letter, "text": inline_html(option.text)}
            for letter, index, option in question.shown
        ],
    }
