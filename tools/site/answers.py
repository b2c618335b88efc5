"""Folded answers below predictions and estimates.

    >>> folded_answer({"metadata": {"course": {"kind": "predict", "answer": "<p>More than half</p>"}}})
    '<details class="course-answer"><summary>Answer</summary><p>More than half</p></details>'

The builder stores them in the notebooks' metadata, where learners don't see them.
"""

from __future__ import annotations

import re
from html import unescape

from nbformat import NotebookNode

from course_lib.teaching.questions.markup import to_mathml

# A formula, or what may contain a dollar sign that starts none.
FORMULA = re.compile(r"<code>.*?</code>|<span>\$</span>|<[^>]*>|\$(?P<latex>[^$]+)\$", re.DOTALL)


def folded_answer(cell: NotebookNode) -> str:
    """The answer to the prediction or estimate of a cell; empty if it has none."""
    answer = cell["metadata"].get("course", {}).get("answer")
    if not answer:
        return ""
    return f'<details class="course-answer"><summary>Answer</summary>{with_mathml(answer)}</details>'


def with_mathml(html: str) -> str:
    r"""Static HTML of a question card, with its formulas as MathML: a page needs no script for them.

    >>> with_mathml("<p>Scale <code>$x$</code> by $d_k$.</p>")
    '<p>Scale <code>$x$</code> by <math ...>...</math>.</p>'
    """
    return FORMULA.sub(
        lambda match: to_mathml(unescape(match["latex"])) if match["latex"] else match[0], html
    )
