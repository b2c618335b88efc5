"""Formulas in static HTML of a question card, as MathML, which a page shows without a script."""

from __future__ import annotations

import re
from html import unescape

from course_lib.teaching.questions.markup import to_mathml

# A formula, or what may contain a dollar sign that starts none.
FORMULA = re.compile(r"<code>.*?</code>|<span>\$</span>|<[^>]*>|\$(?P<latex>[^$]+)\$", re.DOTALL)


def with_mathml(html: str) -> str:
    r"""The HTML with its formulas as MathML.

    >>> with_mathml("<p>Scale <code>$x$</code> by $d_k$.</p>")
    '<p>Scale <code>$x$</code> by <math ...>...</math>.</p>'
    """
    return FORMULA.sub(
        lambda match: to_mathml(unescape(match["latex"])) if match["latex"] else match[0], html
    )
