"""What the leaderboard of lesson 18 computes and shows."""

from __future__ import annotations

import re

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.results import value_at
from course_lib.translation.comparison import BETTER, WORSE, by_runs
from lessons.l18_the_museum import leaderboard
from lessons.l18_the_museum.leaderboard import ATTENTION, BEST, EVERY, MEAN, PLAIN, WORST, Leaderboard
from lessons.l18_the_museum.museum import COLUMNS, TITLES, WITHOUT_ATTENTION, runs_of, table
from lessons.l18_the_museum.sentences import compared
from tests.explore.limits import Limit

LIMITS = {"Leaderboard": [Limit("crowded", "three or more", "unclear")]}


def facts_of(column: str, rows: str = EVERY, rank_by: str = MEAN) -> dict:
    return leaderboard.compute(column=column, rows=rows, rank_by=rank_by)


@pytest.mark.parametrize(
    ("column", "rank_by", "first"),
    [
        *((column, MEAN, "transformer") for column in ("test", "pronouns")),
        *((column, MEAN, "bahdanau") for column in ("21 to 30 words", "alignment error", "BLEU R-Drop")),
        *((column, MEAN, "convs2s") for column in ("BLEU beam", "BLEU own rate")),
        ("perplexity", MEAN, "gru_lm"),
        ("negation", MEAN, "luong_concat"),
        ("negation", WORST, "bahdanau"),
    ],
)
def test_the_first_system(column, rank_by, first):
    assert facts_of(column, rank_by=rank_by)["names"][0] == first


def test_gap_and_spread():
    facts, narrow = facts_of("test"), facts_of("alignment error")
    assert facts["gap"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    assert narrow["gap"] < narrow["spread"] and narrow["unclear"] == 0, "better, by the runs"


@pytest.mark.parametrize("column", COLUMNS)
def test_numbers_of_better_and_worse_systems(column):
    facts = facts_of(column)
    names = facts["names"]
    for name, n_worse, n_better in zip(names, facts["better_than"], facts["worse_than"], strict=True):
        verdicts = [compared(column, name, rival).verdict for rival in names if rival != name]
        assert (n_worse, n_better) == (verdicts.count(BETTER), verdicts.count(WORSE))
    assert facts["unclear"] == len(names) - 1 - facts["better_than"][0]


def test_the_verdict_names_the_number_of_unclear_differences():
    facts = facts_of("pronouns")
    assert facts["unclear"] >= 5, "by the runs alone it is 5"
    assert int(re.findall(r"\d+", leaderboard.verdict_text(facts))[0]) == facts["unclear"]


def test_with_r_drop_all_runs_of_the_first_are_better_but_not_clearly():
    facts = facts_of("BLEU R-Drop")
    first, *others = facts["runs"]
    assert all(by_runs(first, rival) == BETTER for rival in others) and facts["unclear"] == 2


def test_the_ceiling_is_named_where_many_systems_reach_it():
    texts = {column: leaderboard.gap_text(facts_of(column)) for column in ("1 to 5 words", "depth")}
    assert "12" in texts["1 to 5 words"] and "98" in texts["1 to 5 words"]
    assert "98" not in texts["depth"]


def goals_met(**state) -> set[str]:
    start = {"column": "21 to 30 words", "rows": EVERY, "rank_by": MEAN}

    def facts(state: dict) -> dict:
        return state | leaderboard.compute(**state)

    met = Leaderboard.goals_met(facts(start | state), facts(start))
    return {goal for goal, reached in met.items() if reached}


def test_goals():
    assert goals_met() == set()
    assert goals_met(column="pronouns") == {"crowded"}
    assert goals_met(column="BLEU R-Drop") == {"sentences"}
    assert "worst-run" in goals_met(column="negation", rank_by=WORST)
    assert goals_met(column="BLEU beam") == goals_met(column="pronoun class") == set()


def test_a_column_with_one_system_or_none():
    single, empty = facts_of("pronoun class"), facts_of("pronoun class", PLAIN)
    assert single["gap"] is None and len(single["names"]) == 1 and empty["names"] == []
    texts = {leaderboard.verdict_text(facts) for facts in (single, empty, facts_of("test"))}
    assert len(texts) == 3 and all(texts)


@pytest.mark.parametrize("higher", [True, False])
def test_the_worst_run_is_the_largest_where_less_is_better(higher):
    least, most = (WORST, BEST) if higher else (BEST, WORST)
    assert leaderboard.ranking_value([3.0, 1.0, 2.0], least, higher) == 1.0
    assert leaderboard.ranking_value([3.0, 1.0, 2.0], most, higher) == 3.0


@pytest.mark.parametrize("column", COLUMNS)
def test_the_filter_splits_the_rows(column):
    every, attending, plain = (facts_of(column, rows)["names"] for rows in (EVERY, ATTENTION, PLAIN))
    assert sorted(every) == sorted([*attending, *plain]) and 1 <= len(every) <= leaderboard.N_ROWS
    assert set(plain) <= set(WITHOUT_ATTENTION)
    assert all(len(runs) == 3 for runs in table()[column].values())


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
