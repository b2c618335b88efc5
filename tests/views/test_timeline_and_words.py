"""The two views that lessons 00 and 08 tell their stories with."""

from __future__ import annotations

import pytest

from course_lib import views


def test_a_timeline_tells_its_events_in_order_of_years():
    drawn = views.timeline({2015: ["Luong"], 2014: ["sequence to sequence"]}, title="Two years")
    assert drawn.alt == "Two years. 2014: sequence to sequence; 2015: Luong."
    assert drawn.png.startswith(b"\x89PNG")


@pytest.mark.parametrize("events", [{}, {2015: []}])
def test_a_timeline_needs_events(events):
    with pytest.raises(ValueError, match="at least one event"):
        views.timeline(events)


def test_word_rows_say_every_weight():
    drawn = views.word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Where it looks")
    assert drawn.alt == "Where it looks. cat 0.90, it 0.10."


def test_word_rows_grow_with_the_sentence():
    short = views.word_rows([[1.0]], words=[["it"]], marked=["it"])
    long = views.word_rows([[0.25] * 4], words=[["because", "it", "was", "cold"]], marked=["it"])
    assert long.width > 2 * short.width and long.height == short.height


@pytest.mark.parametrize(
    ("weights", "words", "marked", "says"),
    [
        ([[1.0]], [["it"], ["it"]], ["it"], "1, 2 and 1 came"),
        ([[0.5, 0.5]], [["it"]], ["it"], "1 words and 2 weights"),
    ],
)
def test_word_rows_want_one_weight_a_word(weights, words, marked, says):
    with pytest.raises(ValueError, match=says):
        views.word_rows(weights, words=words, marked=marked)
