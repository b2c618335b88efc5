"""The facts that the explorables of lesson 04 show."""

from __future__ import annotations

import pytest

from lessons.l04_encoder_decoder import one_vector_suitcase
from tests.explore.stops import opened


def recall(n: int, d: int, keeps: str = one_vector_suitcase.ONE) -> float:
    return one_vector_suitcase.compute(n=n, d=d, keeps=keeps)["recall"]


@pytest.mark.parametrize("d", one_vector_suitcase.WIDTHS)
def test_more_words_come_back_less_and_a_vector_for_each_loses_nothing(d):
    lengths = one_vector_suitcase.LENGTHS
    shares = [recall(n, d) for n in lengths]
    assert shares[0] == 1 and shares == sorted(shares, reverse=True)
    assert all(recall(n, d) <= recall(n, 2 * d) for n in lengths if d < 512)
    assert all(recall(n, d, one_vector_suitcase.EACH) == 1 for n in lengths)


def test_beside_the_suitcase_stands_the_record():
    for d, percent in {512: [100, 100, 98, 81, 15, 0], 32: [62, 11, 0, 0, 0, 0]}.items():
        assert [round(100 * share) for share in one_vector_suitcase.trained(d)] == percent


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    (lambda: recall(5, 64), 0.88, 0.03),
    (lambda: recall(10, 128) - recall(40, 512), 0, 0.03),  # what counts is words per number
    (lambda: one_vector_suitcase.bits(50), 758.8, 0.05),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)


def test_the_prediction_is_true():
    _, right, before, after = opened("04", "twice-the-words", one_vector_suitcase.OneVectorSuitcase)
    assert (before["n"], before["d"], round(100 * before["recall"])) == (10, 128, 87), "the question says so"
    assert (after["n"], after["d"]) == (20, 256) and abs(after["recall"] - before["recall"]) < 0.03
    assert right.startswith("256") and recall(20, 128) < 0.6
