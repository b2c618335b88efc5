"""The museum's leaderboard: ranks, leads and spreads as recorded."""

from __future__ import annotations

import re
from itertools import product

import pytest

from course_lib.explore.leaderboard import (
    ATTENTION,
    BEST,
    EVERY,
    MEAN,
    N_ROWS,
    PLAIN,
    WORST,
    Leaderboard,
    compute,
    placed,
    told,
)
from course_lib.models.museum import COLUMNS, TOY, WITHOUT_ATTENTION, runs_of, table


def first(column: str, rows: str = EVERY, place: str = MEAN) -> str:
    return compute(column=column, rows=rows, place=place)["names"][0]


def test_the_columns_do_not_agree_on_a_winner():
    assert first("test") == first("pronouns") == "transformer"
    assert first("21 to 30 words") == first("alignment error") == "bahdanau"
    assert first("BLEU beam") == first("BLEU own rate") == "convs2s"
    assert first("BLEU R-Drop") == "bahdanau"
    assert first("perplexity") == "gru_lm" and first("LM training") == "ngram_lm"


def test_the_worst_seed_changes_the_order():
    assert (first("negation"), first("negation", place=WORST)) == ("luong_concat", "bahdanau")


def test_lead_and_spread_by_hand():
    facts = compute(column="test", rows=EVERY, place=MEAN)
    assert facts["lead"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    alone = compute(column="pronoun class", rows=EVERY, place=MEAN)
    assert alone["lead"] is None and len(alone["names"]) == 1
    assert compute(column="pronoun class", rows=PLAIN, place=MEAN)["names"] == []


def test_the_verdict_asks_the_seeds_and_not_the_spread():
    shown = {column: compute(column=column, rows=EVERY, place=MEAN) for column in COLUMNS}
    assert (shown["test"]["level"], shown["21 to 30 words"]["level"]) == (3, 0)
    narrow = shown["alignment error"]
    assert narrow["lead"] < narrow["spread"] and told(narrow).startswith("alone")
    assert told(shown["pronouns"]) == "level with the first: 5 more"
    assert told(compute(column="pronoun class", rows=PLAIN, place=MEAN)) == "nobody was measured"


def test_what_a_column_says_is_how_many_sentences_it_has():
    scores = runs_of("toy_ladder")["transformer"][0]["scores"]
    sizes = {part["n"] for part in scores.values()}
    for part in scores.values():
        sizes |= {one["n"] for kind in ("by_length", "by_phenomenon") for one in part[kind].values()}
    for name, column in COLUMNS.items():
        if column.hall == TOY and (told_n := re.search(r"n = (\d+)", column.says)):
            assert int(told_n[1]) in sizes, name


def test_less_is_better_where_it_is():
    assert placed([3.0, 1.0, 2.0], WORST, True) == placed([3.0, 1.0, 2.0], BEST, False) == 1.0
    assert placed([3.0, 1.0, 2.0], BEST, True) == placed([3.0, 1.0, 2.0], WORST, False) == 3.0


@pytest.mark.parametrize("column", COLUMNS)
def test_the_filter_parts_the_rows(column):
    every, with_it, without = (
        compute(column=column, rows=rows, place=MEAN)["names"] for rows in (EVERY, ATTENTION, PLAIN)
    )
    assert sorted(every) == sorted([*with_it, *without]) and 1 <= len(every) <= N_ROWS
    assert set(without) <= set(WITHOUT_ATTENTION)
    assert all(len(seeds) == 3 for seeds in table()[column].values())


def test_goals_can_be_reached_and_are_not_met_at_the_start():
    lab = Leaderboard()
    start = lab.facts
    states = [
        dict(zip(("column", "rows", "place"), state, strict=True))
        for state in product(COLUMNS, (EVERY, ATTENTION, PLAIN), (MEAN, WORST, BEST))
    ]
    for goal in lab.goals:
        assert not goal.met(start, start)
        assert any(goal.met(Leaderboard.facts_at(state), start) for state in states)
