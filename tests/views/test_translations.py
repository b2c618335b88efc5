"""A table of translations marks what is wrong, shows what is missing, and says when it can't know."""

from __future__ import annotations

import re

import pytest

from course_lib.views import translations
from course_lib.views.picture import WIDTH
from course_lib.views.words import BLANK, matches, mistakes

RIGHT = "la femme cherche le pain et la reine le mange"


def marked(picture) -> list[str]:
    return re.findall(r'<tspan fill="var\(--accent\)"[^>]*>([^<]*)<', picture.body)


def test_words_are_compared_by_their_longest_common_subsequence():
    output = "la sœur trouve un sac est propre et des tantes tristes portent la bouteille et le sac est vide"
    right = (
        "la sœur trouve un nouveau sac et le porte et des filles tristes tombent et les boîtes sont lourdes"
    )
    assert len(matches(output.split(), right.split())) == 9, "the longest block first would find fewer"
    assert mistakes(RIGHT.split(), RIGHT.split()) == ([], {})
    assert mistakes([], RIGHT.split()) == ([], {0: 10})
    assert mistakes(["le", "chat"], []) == ([0, 1], {})


def test_wrong_words_are_marked_and_a_blank_is_left_for_missing_ones():
    rows = {
        "one": RIGHT.replace("cherche", "voit"),
        "two": RIGHT.replace("le pain et", "et").split(),
        "three": RIGHT,
    }
    picture = translations("the woman looks for the bread and the queen eats it", rows, reference=RIGHT)
    assert marked(picture) == ["voit", BLANK]
    verdicts = re.findall(r"\((.*?)\)", picture.alt)
    assert verdicts == ["1 wrong", "2 missing", "all right"]


def test_of_several_references_the_nearest_counts_and_without_one_nothing_is_marked():
    rows = {"one": "le chat dort"}
    assert marked(translations("it sleeps", rows, reference={"elle dort", "le chat dort"})) == []
    for none in (None, set()):
        unjudged = translations("the cat sleeps <b>", {"one": "le <chat> mange"}, reference=none)
        assert marked(unjudged) == [] and "nothing is marked" in unjudged.body
        assert "(" not in unjudged.alt and "<chat>" not in unjudged.body


def test_a_long_row_wraps_and_a_table_has_rows():
    rows = {"one": " ".join([RIGHT] * 4)}
    once, often = (translations("x", {"one": text}, reference=RIGHT) for text in (RIGHT, rows["one"]))
    assert often.height > once.height and often.width == once.width == WIDTH
    with pytest.raises(ValueError, match="at least one translation"):
        translations("x", {})
