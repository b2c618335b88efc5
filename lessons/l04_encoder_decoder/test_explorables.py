"""The one-vector suitcase shows what it should."""

from __future__ import annotations

import re

import pytest

from lessons.l04_encoder_decoder.one_vector_suitcase import (
    EACH,
    GROUPS,
    LENGTHS,
    ONE,
    WIDTHS,
    OneVectorSuitcase,
    bits,
    compute,
    trained,
)
from tests.explore.settings import open_question
from tests.lesson_claims import exact


def recall(n: int, d: int, keeps: str = ONE) -> float:
    return compute(n=n, d=d, keeps=keeps)["recall"]


@pytest.mark.parametrize("d", WIDTHS)
def test_more_words_are_recalled_worse_and_a_vector_for_each_loses_nothing(d):
    fractions = [recall(n, d) for n in LENGTHS]
    assert fractions[0] == 1 and fractions == sorted(fractions, reverse=True)
    assert all(recall(n, d) <= recall(n, 2 * d) for n in LENGTHS if d < 512)
    assert all(recall(n, d, EACH) == 1 for n in LENGTHS)


@pytest.mark.parametrize("d", WIDTHS)
def test_the_second_panel_shows_the_recorded_runs(d):
    by_split = {words: "test" if middle < 20 else "long" for words, middle in GROUPS.items()}
    recorded = [exact("state_size", split, words)[str(d)] / 100 for words, split in by_split.items()]
    assert trained(d) == pytest.approx(recorded)


def test_fifty_words_need_fewer_bits_than_a_hundred_numbers_have():
    assert bits(50) == pytest.approx(758.8, abs=0.05)
    assert bits(50) < 100 * 32


def test_twice_the_words_need_twice_the_numbers():
    _, right, before, after = open_question("04", "twice-the-words", OneVectorSuitcase)
    assert (before["n"], before["d"]) == (10, 128), "the question names these"
    assert (after["n"], after["d"]) == (20, 256) and abs(after["recall"] - before["recall"]) < 0.03
    assert int(re.search(r"\d+", right)[0]) == after["d"]
    assert recall(20, 128) < 0.6, "fewer are not enough"


@pytest.mark.parametrize("d", WIDTHS)
def test_the_description_quotes_the_trained_systems_at_16_to_20_words(d):
    description = OneVectorSuitcase.describe(OneVectorSuitcase.facts_at({**OneVectorSuitcase.start, "d": d}))
    _, quoted = re.findall(r"(\d+)%", description)
    assert float(quoted) == pytest.approx(exact("state_size", "test", "16–20")[str(d)], abs=0.51)
