"""The facts that the explorables of lesson 18 show."""

from __future__ import annotations

import re

import pytest

from lessons.l18_the_museum import leaderboard
from lessons.l18_the_museum.leaderboard import ATTENTION, BEST, EVERY, MEAN, PLAIN, WORST
from lessons.l18_the_museum.museum import COLUMNS, TOY, WITHOUT_ATTENTION, runs_of, table


def ranked(column: str, rows: str = EVERY, place: str = MEAN) -> dict:
    return leaderboard.compute(column=column, rows=rows, place=place)


@pytest.mark.parametrize(
    ("column", "place", "first"),
    [
        *((column, MEAN, "transformer") for column in ("test", "pronouns")),
        *((column, MEAN, "bahdanau") for column in ("21 to 30 words", "alignment error", "BLEU R-Drop")),
        *((column, MEAN, "convs2s") for column in ("BLEU beam", "BLEU own rate")),
        ("perplexity", MEAN, "gru_lm"),
        ("LM training", MEAN, "ngram_lm"),
        ("negation", MEAN, "luong_concat"),
        ("negation", WORST, "bahdanau"),
    ],
)
def test_who_is_first(column, place, first):
    assert ranked(column, place=place)["names"][0] == first


def test_lead_spread_and_verdict():
    facts, narrow = ranked("test"), ranked("alignment error")
    assert facts["lead"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    assert (facts["level"], ranked("21 to 30 words")["level"]) == (3, 0)
    assert narrow["lead"] < narrow["spread"] and leaderboard.told(narrow).startswith("alone"), "by the seeds"
    assert leaderboard.told(ranked("pronouns")) == "level with the first: 5 more"
    alone, nobody = ranked("pronoun class"), ranked("pronoun class", PLAIN)
    assert alone["lead"] is None and len(alone["names"]) == 1 and nobody["names"] == []
    assert leaderboard.told(nobody) == "nobody was measured"
    for higher in (True, False):  # less is better where it is
        least, most = (WORST, BEST) if higher else (BEST, WORST)
        assert leaderboard.placed([3.0, 1.0, 2.0], least, higher) == 1.0
        assert leaderboard.placed([3.0, 1.0, 2.0], most, higher) == 3.0


@pytest.mark.parametrize("column", COLUMNS)
def test_the_filter_parts_the_rows_and_a_column_says_its_sentences(column):
    every, with_it, without = (ranked(column, rows)["names"] for rows in (EVERY, ATTENTION, PLAIN))
    assert sorted(every) == sorted([*with_it, *without]) and 1 <= len(every) <= leaderboard.N_ROWS
    assert set(without) <= set(WITHOUT_ATTENTION)
    assert all(len(seeds) == 3 for seeds in table()[column].values())
    scores = runs_of("toy_ladder")["transformer"][0]["scores"]
    sizes = {part["n"] for part in scores.values()}
    for part in scores.values():
        sizes |= {one["n"] for kind in ("by_length", "by_phenomenon") for one in part[kind].values()}
    said = re.search(r"n = (\d+)", COLUMNS[column].says)
    assert COLUMNS[column].hall != TOY or not said or int(said[1]) in sizes
