"""Folded answers: what the builder stores is shown, with formulas that need no script."""

from __future__ import annotations

from nbformat.v4 import new_code_cell

from tools.site.answers import folded_answer, with_mathml


def test_a_cell_without_an_answer_shows_none():
    assert folded_answer(new_code_cell("1 + 1")) == ""
    assert folded_answer(new_code_cell("1 + 1", metadata={"course": {"kind": "code"}})) == ""


def test_an_answer_is_folded():
    cell = new_code_cell("", metadata={"course": {"answer": "<p>About $\\sqrt{2} &lt; x$.</p>"}})
    shown = folded_answer(cell)
    assert shown.startswith('<details class="course-answer"><summary>Answer</summary><p>About <math')
    assert "<msqrt>" in shown and "<mo>&#x0003C;</mo>" in shown and "$" not in shown


def test_only_formulas_become_mathml():
    kept = '<code>a$b$</code> <span>$</span>5 and <span>$</span>6 <img alt="$x$">'
    assert with_mathml(kept) == kept
