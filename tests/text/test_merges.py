"""Byte-pair encoding in plain Python: by hand once, then merge for merge as the library does it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.bpe import MIN_FREQUENCY, BpeTokenizer
from course_lib.text.merges import apply_merges, count_pairs, learn_merges, merge, spaced

pytestmark = pytest.mark.slow

properties = settings(derandomize=True, deadline=None, max_examples=150, database=None)

TEXTS = {
    "Sennrich's": "low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3,
    "running pair": "the cat drank the water because it was thirsty le chat a bu l' eau parce qu' "
    "il avait soif "
    "the cat drank the water because it was cold le chat a bu l' eau parce qu' elle était froide",
    "punctuation": 'Two young, White males: "Welcome", it\'s 2017. 2017! Welcome? Zwei weiße Männer, Büsche.',
    "repeats": "aaa aaaa aaaaaaa abababab babab bab aabaab mississippi mississippi banana banana anan",
    "accents": "été étés étaient noël Noël œuvre cœur sœurs ﬁn",
    "one letter": "a",
}


def both(text: str) -> tuple[list, list]:
    """The merges, all there are, of the plain implementation and of the library."""
    library = BpeTokenizer.from_texts([text], vocab_size=10_000)
    steps = learn_merges(library.pieces(text), n_merges=10_000, min_frequency=MIN_FREQUENCY)
    return [step.pair for step in steps], library.merges


# ---- by hand


def test_each_step_can_be_looked_at():
    first, second, third = learn_merges(["ab", "ab", "abc", "cb"], n_merges=3)
    assert first.pair_counts == {("a", "b"): 3, ("b", "c"): 1, ("c", "b"): 1}
    assert next(iter(first.pair_counts)) == first.pair == ("a", "b") and first.count == 3
    assert first.words == {"ab": 2, "ab c": 1, "c b": 1} and first.vocabulary == ("a", "b", "c", "ab")
    assert second.pair == ("c", "b"), "c is older than ab"
    assert second.pair_counts == {("c", "b"): 1, ("ab", "c"): 1} and next(iter(second.pair_counts)) == (
        "c",
        "b",
    )
    assert third.pair == ("ab", "c") and third.words == {"ab": 2, "abc": 1, "cb": 1}
    assert third.vocabulary == ("a", "b", "c", "ab", "cb", "abc")


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["bb", "aa"], ("a", "a")),  # the older left token
        (["ac", "ab"], ("a", "b")),  # then the older right token
        (["ab", "▁a"], ("a", "b")),  # as old as its place in Unicode: the space sign is younger than letters
        (["aa", "bb", "bb"], ("b", "b")),  # but first of all the more frequent
    ],
)
def test_ties_go_to_the_older_tokens(words, chosen):
    (step,) = learn_merges(words, n_merges=1)
    assert step.pair == chosen


def test_merging_goes_from_left_to_right_and_counting_counts_overlaps():
    assert count_pairs({("a", "a", "a"): 2}) == {("a", "a"): 4}
    assert merge(("a", "a", "a"), ("a", "a")) == ("aa", "a")
    assert merge(("b", "a"), ("a", "b")) == ("b", "a")


def test_it_stops_when_there_is_nothing_left_to_merge():
    assert [step.pair for step in learn_merges(["ab"], n_merges=9)] == [("a", "b")]
    assert list(learn_merges([], n_merges=9)) == list(learn_merges(["ab"], n_merges=0)) == []
    assert list(learn_merges(["ab", "cd"], n_merges=9, min_frequency=2)) == []


def test_a_step_is_never_changed_by_those_after_it():
    text = spaced("low lower lowest")
    looked_at_once = [(step.pair, dict(step.words)) for step in learn_merges(text, n_merges=5)]
    assert [(step.pair, step.words) for step in list(learn_merges(text, n_merges=5))] == looked_at_once


# ---- equal to the library


@pytest.mark.parametrize("name", TEXTS)
def test_equal_to_the_library(name):
    ours, theirs = both(TEXTS[name])
    assert ours == theirs
    assert ours or name in ("one letter", "accents")


@properties
@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=20))
def test_equal_to_the_library_on_any_words_of_few_letters(words):
    """Few letters make many ties, overlaps, and tokens that come about in two ways."""
    ours, theirs = both(" ".join(words * 2))
    assert ours == theirs


@settings(properties, max_examples=40)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=1, max_size=8))
def test_equal_to_the_library_on_any_text(words):
    ours, theirs = both(" ".join(["a", *words] * 2))
    assert ours == theirs


@properties
@given(st.text("abc ", min_size=1, max_size=60), st.text("abc ", max_size=30))
def test_words_are_cut_as_the_library_cuts_them(learned, text):
    library = BpeTokenizer.from_texts(["abc", learned], vocab_size=130)
    cut = [token for piece in library.pieces(text) for token in apply_merges(piece, library.merges)]
    assert cut == library.tokens(library.encode(text))


def test_plain_words_are_the_pieces_of_a_text_without_punctuation():
    text = "the cat drank the water"
    assert spaced(text) == BpeTokenizer.from_texts([text], vocab_size=200).pieces(text)


# ---- wrong input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"pieces": "low lower", "n_merges": 1},
            TypeError,
            r"one string\. Cut it first: spaced\('low lower'\)",
        ),
        ({"pieces": ["low"], "n_merges": -1}, ValueError, "n_merges of 0 or more.*got -1 and 1"),
        ({"pieces": ["low"], "n_merges": 1, "min_frequency": 0}, ValueError, "got 1 and 0"),
    ],
)
def test_wrong_wishes_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        next(learn_merges(**arguments))
