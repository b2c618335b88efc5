"""W3: what a vector holds. One seed, 2,000 recalls for each setting: a standard error of 0.01 at most."""

from __future__ import annotations

import pytest

from course_lib.explore import OneVectorSuitcase, one_vector_suitcase
from course_lib.explore.one_vector_suitcase import EACH, LENGTHS, ONE, WIDTHS
from course_lib.teaching.questions import questions


def recall(n: int, d: int, keeps: str = ONE) -> float:
    return one_vector_suitcase.compute(n=n, d=d, keeps=keeps)["recall"]


def test_five_words_in_sixty_four():
    assert recall(5, 64) == pytest.approx(0.88, abs=0.03)


def test_what_counts_is_words_per_number():
    assert abs(recall(10, 128) - recall(40, 512)) < 0.03
    same = [recall(5, 64), recall(10, 128), recall(20, 256), recall(40, 512)]
    assert max(same) - min(same) < 0.05


@pytest.mark.parametrize("d", WIDTHS)
def test_a_vector_for_each_word_loses_nothing(d):
    assert all(recall(n, d, EACH) == 1 for n in LENGTHS)


@pytest.mark.parametrize("d", WIDTHS)
def test_more_words_come_back_less(d):
    shares = [recall(n, d) for n in LENGTHS]
    assert shares[0] == 1 and shares == sorted(shares, reverse=True)
    assert all(recall(n, d) <= recall(n, 2 * d) for n in LENGTHS if d < 512)


def test_whole_sentences_come_back_less_often_than_words():
    for n in LENGTHS:
        facts = one_vector_suitcase.compute(n=n, d=128, keeps=ONE)
        assert facts["whole"] <= facts["recall"]


def test_bits_of_fifty_words():
    assert one_vector_suitcase.bits(50) == pytest.approx(758.8, abs=0.05)


def test_beside_it_stands_the_record():
    assert [round(100 * share) for share in one_vector_suitcase.trained(512)] == [100, 100, 98, 81, 15, 0]
    assert [round(100 * share) for share in one_vector_suitcase.trained(32)] == [62, 11, 0, 0, 0, 0]


def test_the_prediction_is_true():
    asked = questions("04")["twice-the-words"]
    explorable = OneVectorSuitcase()
    before = explorable.facts
    explorable.preset(asked.preset)
    after = explorable.facts
    assert (before["n"], before["d"], round(100 * before["recall"])) == (10, 128, 87), "the question says so"
    assert (after["n"], after["d"]) == (20, 256) and abs(after["recall"] - before["recall"]) < 0.03
    assert asked.options[asked.right[0]].text == "256, twice as many"
    assert recall(20, 128) < 0.6
