"""Mark-up becomes HTML, formulas become MathML, and nothing else gets through."""

from __future__ import annotations

import pytest

from course_lib.teaching.questions.markup import inline_html, to_mathml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "& <b>bold</b> \"quoted\" 'too'",
            "&amp; &lt;b&gt;bold&lt;/b&gt; &quot;quoted&quot; &#x27;too&#x27;",
        ),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("*soft* and **loud**", "<em>soft</em> and <strong>loud</strong>"),
        ("**loud with `code*` in it**", "<strong>loud with <code>code*</code> in it</strong>"),
        ("2*3*4 and a * b * c", "2*3*4 and a * b * c"),
        ("`*not soft*`", "<code>*not soft*</code>"),
        (r"cost \$5", "cost <span>$</span>5"),
        ("a lone ` tick", "a lone ` tick"),
    ],
)
def test_the_four_marks_and_nothing_else(text, expected):
    assert inline_html(text) == expected


def test_formulas_become_mathml_inside_other_marks_or_stay_latex():
    assert inline_html("**$x$**") == '<strong><math display="inline"><mrow><mi>x</mi></mrow></math></strong>'
    assert "<msqrt><mrow><msub><mi>d</mi><mi>k</mi></msub></mrow></msqrt>" in to_mathml(r"\sqrt{d_k}")
    assert "<mo>&#x0003C;</mo>" in to_mathml("a<b")
    assert inline_html(r"by $a<\sqrt{b}$", mathml=False) == r"by $a&lt;\sqrt{b}$"
