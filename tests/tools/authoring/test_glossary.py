"""Terms are shown in bold, collected on a page, defined once, and not used before their lesson."""

from __future__ import annotations

import pytest

from tests.tools.authoring.made_up import FORMULA, TINY, line_of, only
from tools.authoring.glossary import defined_twice, glossary_page, sentence, used_too_early

LINE = line_of(FORMULA)


def lessons(course, *texts: str) -> list:
    """Made-up lessons 42, 43, … that contain these texts."""
    return [
        course.draft(TINY.replace(FORMULA, text), f"{number}_l{number}").lesson
        for number, text in enumerate(texts, 42)
    ]


def test_a_term_is_shown_in_bold_italics(course):
    draft = course.draft(TINY.replace(FORMULA, "A {term:softmax} and a {term:blend|weighted mean}."))
    source = only(draft.notebook("learner"), "text")["source"]
    assert source.endswith("A ***softmax*** and a ***weighted mean***.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. A {term:x} is\na letter. Two.", "A ***x*** is a letter."),
        ("One\n\nA {term:x} is a letter", "A ***x*** is a letter"),
        ("- one\n- a {term:x|word}, e.g. this\n- two", "a ***word***, e.g. this"),
        ("> ## A {term:x}?\nYes.", "A ***x***?"),
        ("**Bold** {term:x}! Yes.", "**Bold** ***x***!"),
    ],
)
def test_the_sentence_of_a_term_is_found(text, expected):
    assert sentence(text, text.index("{term")) == expected


def test_the_page_has_every_term_with_sentence_and_lesson_and_repeated_definitions_are_found(course):
    course_lessons = lessons(course, "A {term:softmax} sums to 1.", "We call it {term:Blend|a blend}. Fine.")
    link = "[{0} · How does a tiny lesson work?](../notebooks/{0}_l{0}.ipynb)"
    assert glossary_page(course_lessons).endswith(
        f"\n\n- **Blend**: We call it ***a blend***. ({link.format(43)})\n"
        f"- **softmax**: A ***softmax*** sums to 1. ({link.format(42)})\n"
    )
    assert glossary_page([]).startswith("# Glossary\n") and defined_twice(course_lessons) == []
    [problem] = defined_twice(lessons(course, "{term:softmax}", "One.\n{term:Softmax}"))
    assert problem.startswith(f"lessons/l43_l43/lesson.py:{LINE + 1}: ") and "'Softmax'" in problem
    assert problem.endswith(f"lessons/l42_l42/lesson.py:{LINE}")


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
    problems = used_too_early(lessons(course, text, "A {term:soft maximum}.", "The soft maximum."))
    starts = [f"lessons/l42_l42/lesson.py:{LINE + below}: 'soft maximum' " for below in early]
    for problem, start in zip(problems, starts, strict=True):
        assert problem.startswith(start) and "43_l43" in problem
