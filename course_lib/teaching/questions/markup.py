r"""Short texts with a little mark-up, made into safe HTML.

    >>> inline_html("**Scale** by $d_k$, not by `n` & not by luck")
    '<strong>Scale</strong> by <math ...>...</math>..., not by <code>n</code> &amp; not by luck'

The mark-up is $LaTeX$, `code`, *emphasis* and **bold**; \$ is a dollar sign. Everything else is escaped.
Formulas become MathML, which browsers draw by themselves: no script, no font, no network.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from latex2mathml.converter import convert

ATOM = re.compile(r"\\\$|\$(?P<latex>[^$]*)\$|`(?P<code>[^`]+)`")
BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])", re.DOTALL)
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", re.DOTALL)


def inline_html(text: str, formula: Callable[[str], str] | None = None) -> str:
    """One short text as HTML. `formula` sets the LaTeX between dollars; MathML where it is left out."""
    set_formula = formula or mathml
    atoms: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if (latex := match["latex"]) is not None:
            atoms.append(set_formula(latex))
        elif (code := match["code"]) is not None:
            atoms.append(f"<code>{html.escape(code)}</code>")
        else:
            atoms.append("<span>$</span>")  # alone in its tag, so that MathJax never takes it for a formula
        return f"\x00{len(atoms) - 1}\x00"  # a character that no text holds

    marked = ATOM.sub(keep, text)
    marked = EMPHASIS.sub(r"<em>\1</em>", BOLD.sub(r"<strong>\1</strong>", html.escape(marked)))
    if formula is None:  # no full stop on a line of its own
        marked = re.sub(r"(\x00\d+\x00)(?=[.,;:!?)])", "\\1\u2060", marked)
    return re.sub(r"\x00(\d+)\x00", lambda match: atoms[int(match[1])], marked)


def dollars(latex: str) -> str:
    """A formula left as LaTeX, for pages whose sanitiser throws MathML away but which typeset dollars."""
    return f"${html.escape(latex)}$"


def mathml(latex: str) -> str:
    r"""LaTeX as MathML: mathml(r"\sqrt{d_k}")."""
    return re.sub(r' xmlns="[^"]*"', "", convert(latex))  # HTML knows <math> without it
