"""The toy language read backwards: never a wrong translation."""

from __future__ import annotations

import pytest

from course_lib.text.toy.generate import generate, running_pair
from course_lib.text.toy.read import translations_of

NOT_READ = {"relatives", "object_pronouns", "questions"}


def test_the_running_pair():
    for pair in running_pair():
        assert translations_of(pair.src_text) == {pair.tgt_text}


def test_what_it_reads_it_reads_rightly_and_that_is_most_sentences():
    pairs = [pair for pair in generate(400, seed=1, length=(3, 12)) if not pair.phenomena & NOT_READ]
    found = [translations_of(pair.src_text) for pair in pairs]
    assert all(pair.tgt_text in known for pair, known in zip(pairs, found, strict=True) if known)
    assert sum(map(bool, found)) > 0.95 * len(pairs)
    assert sum(len(known) > 1 for known in found) <= 2


def test_clauses_can_be_joined():
    said = "the king sees the queen but the queen sees the boy"
    assert translations_of(said) == {"le roi voit la reine mais la reine voit le garçon"}


@pytest.mark.parametrize(
    "said",
    ["", "cat the sleeps", "the water drank the cat", "the axolotl sleeps", "the cat sleep", "an cat sleeps"],
)
def test_what_is_no_sentence_of_the_language_has_no_translation(said):
    assert translations_of(said) == set()
