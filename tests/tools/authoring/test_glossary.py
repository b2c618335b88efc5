"""Terms: shown in bold, gathered into a page, defined once, and not used before their lesson."""

from __future__ import annotations

import pytest

from tests.tools.authoring.made_up import FORMULA, TINY, line_of, only
from tools.authoring.glossary import defined_twice, glossary_page, sentence, used_too_early

LINE = line_of(FORMULA)


def lessons(course, *texts: str) -> list:
    """Made-up lessons 42, 43, … with these texts in them."""
    return [
        course.draft(TINY.replace(FORMULA, text), f"{number}_l{number}").lesson
        for number, text in enumerate(texts, 42)
    ]


def test_a_term_is_shown_in_bold_italics(course):
    draft = course.draft(TINY.replace(FORMULA, "A {term:softmax} and a {term:blend|weighted mean}."))
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


def test_the_page_has_every_term_with_its_sentence_and_lesson_and_each_is_defined_once(course):
    found = lessons(course, "A {term:softmax} sums to 1.", "We call it {term:Blend|a blend}. Fine.")
    link = "[{0} · How does a tiny lesson work?](../notebooks/{0}_l{0}.ipynb)"
    assert glossary_page(found).endswith(
        f"\n\n- **Blend**: We call it ***a blend***. ({link.format(43)})\n"
        f"- **softmax**: A ***softmax*** sums to 1. ({link.format(42)})\n"
    )
    assert "No lesson defines a term" in glossary_page([]) and defined_twice(found) == []
    [told] = defined_twice(lessons(course, "{term:softmax}", "One.\n{term:Softmax}"))
    assert told == (
        f"lessons/l43_l43/lesson.py:{LINE + 1}: the term 'Softmax' is defined already, "
        f"in lessons/l42_l42/lesson.py:{LINE}"
    )


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("Word.\nThe Soft\nmaximum is used.", [1]),
        ("(soft maximum)", [0]),
        ("a soft maximum-like thing, and soft maximum again", [0]),
        ("soft maximums, a softmaximum, soft, maximum", []),
        ("`soft maximum` $soft maximum$ $$\nsoft maximum$$ <b title='soft maximum'>", []),
        ("\n```python\nsoft maximum\n```\n", []),
        ("as [the soft maximum of 43](43_l43.ipynb) does", []),
    ],
)
def test_a_term_used_before_its_lesson_is_found(course, text, early):
    found = used_too_early(lessons(course, text, "A {term:soft maximum}.", "The soft maximum."))
    where = [f"lessons/l42_l42/lesson.py:{LINE + below}" for below in early]
    message = "'soft maximum' is used here, but 43_l43 explains it first; "
    assert all(told.startswith(f"{place}: {message}") for told, place in zip(found, where, strict=True))
