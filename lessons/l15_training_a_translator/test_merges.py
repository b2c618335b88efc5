"""Byte-pair encoding in plain Python: by hand once, then merge for merge as the library does it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.bpe import MIN_FREQUENCY, BpeTokenizer
from lessons.l15_training_a_translator.merges import apply_merges, count_pairs, merge

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


def merges_of(library: BpeTokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(library.to_text())["model"]["merges"]]


def both(text: str) -> tuple[list, list]:
    """All merges that our functions learn, and those that the library learns.

    Of equally frequent pairs the library takes the one whose left token is older, then the one whose right
    token is older. Letters are ordered by Unicode, and each merge makes the youngest token so far.
    """
    library = BpeTokenizer.from_texts([text], vocab_size=10_000)
    words = Counter(map(tuple, library.pieces(text)))
    age = {letter: index for index, letter in enumerate(sorted(set().union(*words)))}
    merges = []
    while counts := {pair: n for pair, n in count_pairs(words).items() if n >= MIN_FREQUENCY}:
        pair = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        words = Counter({merge(word, pair): times for word, times in words.items()})
        age.setdefault("".join(pair), len(age))
        merges.append(pair)
    return merges, merges_of(library)


# ---- by hand


def test_merging_goes_from_left_to_right_and_counting_counts_overlaps():
    assert count_pairs({("a", "a", "a"): 2}) == {("a", "a"): 4}
    assert merge(("a", "a", "a"), ("a", "a")) == ("aa", "a")
    assert merge(("b", "a"), ("a", "b")) == ("b", "a")


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
    merges = merges_of(library)
    cut = [token for piece in library.pieces(text) for token in apply_merges(piece, merges)]
    assert cut == library.tokens(library.encode(text))
