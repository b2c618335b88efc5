"""Static HTML of a question card: formulas become MathML, nothing else does."""

from __future__ import annotations

from tools.site.formulas import with_mathml


def test_a_formula_becomes_mathml():
    shown = with_mathml("<p>About $\\sqrt{2} &lt; x$.</p>")
    assert "<msqrt>" in shown and "<mo>&#x0003C;</mo>" in shown and "$" not in shown


def test_only_formulas_become_mathml():
    kept = '<code>a$b$</code> <span>$</span>5 and <span>$</span>6 <img alt="$x$">'
    assert with_mathml(kept) == kept
