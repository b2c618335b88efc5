"""What the leaderboard of lesson 18 computes and shows."""

from __future__ import annotations

import re

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.results import value_at
from lessons.l18_the_museum import leaderboard
from lessons.l18_the_museum.leaderboard import ATTENTION, BEST, EVERY, MEAN, PLAIN, WORST
from lessons.l18_the_museum.museum import COLUMNS, TITLES, WITHOUT_ATTENTION, runs_of, table


def facts_of(column: str, rows: str = EVERY, rank_by: str = MEAN) -> dict:
    return leaderboard.compute(column=column, rows=rows, rank_by=rank_by)


@pytest.mark.parametrize(
    ("column", "rank_by", "first"),
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
def test_the_first_system(column, rank_by, first):
    assert facts_of(column, rank_by=rank_by)["names"][0] == first


def test_lead_and_spread():
    facts, narrow = facts_of("test"), facts_of("alignment error")
    assert facts["lead"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    assert narrow["lead"] < narrow["spread"] and narrow["level"] == 0, "clear, by the seeds"


def test_against_how_many_the_first_is_undecided():
    levels = {column: facts_of(column)["level"] for column in ("test", "21 to 30 words", "pronouns")}
    assert levels == {"test": 3, "21 to 30 words": 0, "pronouns": 5}
    assert re.findall(r"\d+", leaderboard.verdict_text(facts_of("pronouns"))) == ["5"]


def test_a_column_with_one_system_or_none():
    single, empty = facts_of("pronoun class"), facts_of("pronoun class", PLAIN)
    assert single["lead"] is None and len(single["names"]) == 1 and empty["names"] == []
    texts = {leaderboard.verdict_text(facts) for facts in (single, empty, facts_of("test"))}
    assert len(texts) == 3 and all(texts)


@pytest.mark.parametrize("higher", [True, False])
def test_the_worst_seed_is_the_largest_where_less_is_better(higher):
    least, most = (WORST, BEST) if higher else (BEST, WORST)
    assert leaderboard.ranking_value([3.0, 1.0, 2.0], least, higher) == 1.0
    assert leaderboard.ranking_value([3.0, 1.0, 2.0], most, higher) == 3.0


@pytest.mark.parametrize("column", COLUMNS)
def test_the_filter_splits_the_rows(column):
    every, attending, plain = (facts_of(column, rows)["names"] for rows in (EVERY, ATTENTION, PLAIN))
    assert sorted(every) == sorted([*attending, *plain]) and 1 <= len(every) <= leaderboard.N_ROWS
    assert set(plain) <= set(WITHOUT_ATTENTION)
    assert all(len(seeds) == 3 for seeds in table()[column].values())


@pytest.mark.parametrize("column", COLUMNS)
def test_a_description_gives_the_number_of_sentences_that_were_scored(column):
    about = COLUMNS[column]
    quoted = re.search(r"n = (\d+)", about.description)
    run = next(iter(runs_of(about.records[0]).values()))[0]
    scored = value_at(run, *about.path.split("/")[:-1], "n")
    assert quoted is None or scored is None or int(quoted[1]) == scored


def test_labels_are_the_registrys_titles_unless_those_are_too_long():
    titles = {system.name: system.title for system in SYSTEMS}
    longest = max(len(leaderboard.label(name)) for name in TITLES)
    for name, short in leaderboard.SHORT.items():
        assert len(short) <= longest < len(TITLES[name]), "an exception is needed"
    assert all(leaderboard.label(name) == titles[name] for name in titles if name not in leaderboard.SHORT)
