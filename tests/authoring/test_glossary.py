"""Terms: shown in bold, gathered into a page, defined once, and not used before their lesson."""

from __future__ import annotations

import pytest

from course_lib.authoring.glossary import defined_twice, glossary_page, sentence, used_too_early

TEXT = "A formula: $\\sqrt{d_k}$."


@pytest.fixture
def lessons(course, tiny):
    """Made-up lessons 42, 43, … with these texts in them."""

    def make(*texts: str) -> list:
        names = [f"{number}_l{number}" for number in range(42, 42 + len(texts))]
        return [
            course.draft(tiny.replace(TEXT, text), name).lesson
            for text, name in zip(texts, names, strict=True)
        ]

    return make  # fmt: skip


def test_a_term_is_shown_in_bold_italics(course, tiny, only):
    draft = course.draft(tiny.replace(TEXT, "A {term:softmax} and a {term:blend|weighted mean}."))
    shown = only(draft.notebook("learner"), "text")["source"]
    assert shown.endswith("A ***softmax*** and a ***weighted mean***.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. A {term:x} is\na letter. Two.", "A ***x*** is a letter."),
        ("One\n\nA {term:x} is a letter", "A ***x*** is a letter"),
        ("- one\n- a {term:x|word}, e.g. this\n- two", "a ***word***, e.g. this"),
        ("> ## A {term:x}?\nYes.", "A ***x***?"),
        ("**Bold** {term:x}! Yes.", "**Bold** ***x***!"),
    ],
)
def test_a_term_stands_in_its_sentence(text, found):
    assert sentence(text, text.index("{term")) == found


def test_the_page_has_every_term_with_its_sentence_and_lesson(lessons):
    page = glossary_page(lessons("A {term:softmax} sums to 1.", "We call it {term:Blend|a blend}. Fine."))
    link = "[{0} · How does a tiny lesson work?](../notebooks/{0}_l{0}.ipynb)"
    assert page.endswith(
        f"\n\n- **Blend**: We call it ***a blend***. ({link.format(43)})\n"
        f"- **softmax**: A ***softmax*** sums to 1. ({link.format(42)})\n"
    )
    assert glossary_page(lessons("x")).count("\n") == 3 and "No lesson defines a term" in glossary_page([])


def test_a_term_is_defined_once_in_the_course(lessons, line_of):
    found = defined_twice(lessons("{term:softmax}", "One.\n{term:Softmax}"))
    line = line_of(TEXT)
    assert [str(problem) for problem in found] == [
        f"notebooks/source/43_l43/lesson.py:{line + 1}: the term 'Softmax' is defined already, "
        f"in notebooks/source/42_l42/lesson.py:{line}"
    ]


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("Word.\nThe Soft\nmaximum is used.", 1),
        ("(soft maximum)", 0),
        ("a soft maximum-like thing, and soft maximum again", 0),
        ("soft maximums, a softmaximum, soft, maximum", None),
        ("`soft maximum` $soft maximum$ $$\nsoft maximum$$ <b title='soft maximum'>", None),
        ("\n```python\nsoft maximum\n```\n", None),
        ("as [the soft maximum of 43](43_l43.ipynb) does", None),
    ],
)
def test_a_term_used_before_its_lesson_is_found(lessons, line_of, text, early):
    found = used_too_early(lessons(text, "A {term:soft maximum}.", "The soft maximum."))
    told = [str(problem) for problem in found]
    if early is None:
        assert told == []
    else:
        prefix = f"notebooks/source/42_l42/lesson.py:{line_of(TEXT) + early}: 'soft maximum' is used here"
        assert len(told) == 1 and told[0].startswith(prefix) and "43_l43 explains it first" in told[0]
