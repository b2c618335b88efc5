r"""Short texts with a little markup, as safe HTML.

    >>> inline_html("**Scale** by $d_k$, not by `n` & not by luck")
    '<strong>Scale</strong> by <math ...>...</math>..., not by <code>n</code> &amp; not by luck'

The markup is $LaTeX$, `code`, *emphasis* and **bold**; \$ is a dollar sign. Everything else is escaped.
Formulas become MathML, which browsers render without scripts, fonts or a network.
"""

from __future__ import annotations

import html
import re

ATOM = re.compile(r"\\\$|\$(?P<latex>[^$]*)\$|`(?P<code>[^`]+)`")
BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])", re.DOTALL)
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", re.DOTALL)


def inline_html(text: str, *, mathml: bool = True) -> str:
    """A short text as HTML. Without `mathml`, formulas stay LaTeX between dollars."""
    atoms: list[str] = []

    def insert_mark(match: re.Match[str]) -> str:
        if (latex := match["latex"]) is not None:
            atoms.append(to_mathml(latex) if mathml else f"${html.escape(latex)}$")
        elif (code := match["code"]) is not None:
            atoms.append(f"<code>{html.escape(code)}</code>")
        else:
            atoms.append("<span>$</span>")  # alone in its tag, so MathJax never takes it for a formula
        return f"\x00{len(atoms) - 1}\x00"  # a character that the text doesn't contain

    marked = html.escape(ATOM.sub(insert_mark, text.replace("\x00", "\N{REPLACEMENT CHARACTER}")))
    marked = EMPHASIS.sub(r"<em>\1</em>", BOLD.sub(r"<strong>\1</strong>", marked))
    if mathml:  # a full stop must not start a line of its own
        marked = re.sub(r"(\x00\d+\x00)(?=[.,;:!?)])", "\\1\u2060", marked)
    return re.sub(r"\x00(\d+)\x00", lambda match: atoms[int(match[1])], marked)


def to_mathml(latex: str) -> str:
    from latex2mathml.converter import convert  # slow to import

    return re.sub(r' xmlns="[^"]*"', "", convert(latex))  # HTML needs no namespace for <math>
