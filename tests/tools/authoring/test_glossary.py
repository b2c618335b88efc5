"""Marked terms link to their definitions, which are on one page, and no lesson uses a term too early."""

from __future__ import annotations

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.tools.authoring.made_up import FORMULA, TINY, line_of, only
from tools.authoring.glossary import (
    Entry,
    Glossary,
    GlossaryError,
    glossary_page,
    read_glossary,
    unknown_terms,
    used_too_early,
)

LINE = line_of(FORMULA)
SOFTMAX = Entry("softmax", "softmax", "Makes probabilities.", "42", torch="torch.softmax")
BLEND = Entry("weighted-sum", "weighted sum", "A sum.", "43", also=("blend", "<s>"), forms=("weighted sums",))
GLOSSARY = Glossary((SOFTMAX, BLEND))
TOML = '[softmax]\nterm = "softmax"\ndefinition = "{}"\nlesson = "42"\nforms = ["softmaxes"]\n'


def lessons(course, *texts: str) -> list:
    """Made-up lessons 42, 43, … that contain these texts."""
    return [
        course.draft(TINY.replace(FORMULA, text), f"{number}_l{number}").lesson
        for number, text in enumerate(texts, 42)
    ]


def test_a_term_is_a_link_and_bold_where_it_is_introduced(course):
    (course.root / "lessons" / "glossary.toml").write_text(TOML.format("Makes probabilities."))
    text = TINY.replace(FORMULA, "A {term:softmax} and {term:softmaxes|others}, {term:softmax}.")
    link = '[{}](../docs/glossary.md#softmax "Makes probabilities.")'
    shown = f"A **{link.format('softmax')}** and {link.format('others')}, {link.format('softmax')}."
    assert only(course.draft(text).notebook("learner"), "text")["source"].endswith(shown)
    elsewhere = only(course.draft(text, "43_later").notebook("learner"), "text")["source"]
    assert elsewhere.endswith(shown.replace("**", ""))
    solved = only(course.draft(text).notebook("solved"), "text")["source"]  # in build/solved
    assert solved.endswith(shown.replace("(../", "(../../"))


def test_a_term_without_an_entry_is_found(course):
    [lesson] = lessons(course, "One.\nA {term:Weighted  Sum}, a {term:BLEND} and a {term:hash}.")
    [problem] = unknown_terms(lesson, GLOSSARY)
    assert problem.line == LINE + 1 and "'hash'" in problem.message


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("Word.\nThe Weighted\nsum is used.", [1]),
        ("(weighted sums)", [0]),
        ("a weighted sum-like thing, and weighted sum again", [0]),
        ("weighted summation, an unweighted sum, blend", []),
        ("`weighted sum` $weighted sum$ $$\nweighted sum$$ <b title='weighted sum'>", []),
        ("\n```python\nweighted sum\n```\n", []),
        ("as [the weighted sum of 43](43_l43.ipynb) does", []),
        ("A {term:blend|weighted sum}: a weighted sum is explained by its link.", []),
    ],
)
def test_a_term_used_before_its_lesson_is_found(course, text, early):
    problems = used_too_early(lessons(course, text, "A weighted sum.", "The weighted sum."), GLOSSARY)
    starts = [f"lessons/l42_l42/lesson.py:{LINE + below}: 'weighted sum' " for below in early]
    for problem, start in zip(problems, starts, strict=True):
        assert problem.startswith(start) and "lesson 43" in problem


def test_on_the_short_track_a_term_is_introduced_by_its_own_cells(course):
    """Lesson 42 introduces softmax in a section that the short track skips; the summary is on every track."""
    introduced = TINY.replace(FORMULA, "A {term:softmax}.")
    first = course.draft(introduced.replace("All is built.", "A softmax."), "42_l42").lesson
    second = course.draft(introduced.replace("All is built.", "A {term:softmax}."), "43_l43").lesson
    third = course.draft(TINY.replace("All is built.", "The softmax."), "44_l44").lesson
    [problem] = used_too_early([first, second, third], GLOSSARY)
    assert problem.startswith("lessons/l42_l42/lesson.py:") and "'softmax'" in problem and "short" in problem
    assert used_too_early([second, third], GLOSSARY) == []


def test_an_entry_with_capitals_has_an_anchor_that_jupyterlab_finds_too():
    page = glossary_page([], Glossary((Entry("bleu", "BLEU", "A score.", "16"),)))
    assert '### <a id="bleu"></a>BLEU\n' in page


def test_the_page_has_every_entry_with_its_lesson(course):
    page = glossary_page(lessons(course, "One.", "Two."), GLOSSARY)
    assert [line for line in page.split("\n") if line.startswith("#")] == (
        ["# Glossary", "## S", "### softmax", "## W", "### weighted sum"]
    )
    assert "<s>" not in page and "&lt;s&gt;" in page  # a token's name, not HTML
    assert "torch.softmax" in page and "blend" in page
    assert page.count("](../notebooks/42_l42.ipynb)") == page.count("](../notebooks/43_l43.ipynb)") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOML.format("x" * 321), "softmax"),
        (TOML.format("a | b"), "softmax"),
        (TOML.format(r"a \" b"), "softmax"),
        ("[softmax]\nterm = ,\n", "line 2"),
        ('[softmax]\nterm = "softmax"\n', "definition"),
        (TOML.format("x") + 'colour = "red"\n', "colour"),
    ],
)
def test_a_bad_glossary_stops_the_build_with_one_sentence(course, text, expected):
    (course.root / "lessons" / "glossary.toml").write_text(text)
    with pytest.raises(GlossaryError, match=expected) as caught:
        read_glossary(course.root)
    course.write()
    code, _, problems = course.build(check=True)
    assert code == 1 and problems == [str(caught.value)]


def test_names_are_unique_and_keys_are_the_anchors_of_headings():
    entries = read_glossary(PROJECT_ROOT).entries
    names = [name.casefold() for entry in entries for name in {entry.term, *entry.forms}]
    assert len(names) == len(set(names)) and len(entries) > 200
    for entry in entries:
        letters = "".join(c for c in entry.term.lower() if c.isalnum() or c in " -_")
        assert entry.key == letters.replace(" ", "-")
