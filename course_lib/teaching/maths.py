r"""Short texts with a little mark-up, made into safe HTML.

    >>> inline_html("**Scale** by $d_k$, not by `n` & not by luck")
    '<strong>Scale</strong> by <math ...>...</math>, not by <code>n</code> &amp; not by luck'

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
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def inline_html(text: str, formula: Callable[[str], str] | None = None) -> str:
    """One short text as HTML. `formula` sets the LaTeX between dollars; MathML where it is left out."""
    if found := CONTROL.search(text):
        raise ValueError(f"The text holds the control character {found[0]!r}: {text!r}. Take it out.")
    set_formula = formula or mathml
    atoms: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if (latex := match["latex"]) is not None:
            atoms.append(set_formula(latex))
        elif (code := match["code"]) is not None:
            atoms.append(f"<code>{html.escape(code)}</code>")
        else:
            atoms.append("<span>$</span>")  # alone in its tag, so that MathJax never takes it for a formula
        return f"\x00{len(atoms) - 1}\x00"  # no text can hold this character: see the check above

    marked = ATOM.sub(keep, text)
    if "$" in marked:
        raise ValueError(f"A $ has no partner in {text!r}. Write \\$ for a dollar sign.")
    marked = EMPHASIS.sub(r"<em>\1</em>", BOLD.sub(r"<strong>\1</strong>", html.escape(marked)))
    if formula is None:  # no full stop on a line of its own
        marked = re.sub(r"(\x00\d+\x00)(?=[.,;:!?)])", "\\1\u2060", marked)
    return re.sub(r"\x00(\d+)\x00", lambda match: atoms[int(match[1])], marked)


def dollars(latex: str) -> str:
    """A formula left as LaTeX, for pages whose sanitiser throws MathML away but which typeset dollars."""
    return f"${html.escape(latex)}$"


def mathml(latex: str) -> str:
    r"""LaTeX as MathML: mathml(r"\sqrt{d_k}"). It is the course's own text; a slip in it gets an error."""
    bare = re.sub(r"\\[\\{}]", "", latex)
    if bare.count("{") != bare.count("}"):
        raise ValueError(f"The formula ${latex}$ has a brace without a partner.")
    try:
        made = convert(latex)
    except Exception as error:  # latex2mathml has a dozen kinds, with no common parent
        raise ValueError(f"The formula ${latex}$ cannot be read ({type(error).__name__}).") from error
    if unknown := re.search(r">(\\[A-Za-z]+)", made):
        raise ValueError(f"The formula ${latex}$ uses {unknown[1]}, which is unknown. Check the spelling.")
    return re.sub(r' xmlns="[^"]*"', "", made)  # HTML knows <math> without it
