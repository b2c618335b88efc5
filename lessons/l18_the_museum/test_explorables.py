"""What the leaderboard of lesson 18 computes and shows."""

from __future__ import annotations

import re

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.results import value_at
from lessons.l18_the_museum import leaderboard
from lessons.l18_the_museum.leaderboard import ATTENTION, BEST, EVERY, MEAN, PLAIN, WORST, Leaderboard
from lessons.l18_the_museum.museum import COLUMNS, TITLES, WITHOUT_ATTENTION, beats, runs_of, table
from lessons.l18_the_museum.sentences import interval, verdict
from tests.explore.limits import Limit

LIMITS = {
    "Leaderboard": [Limit("crowded", "three or more", "undecided")],
}


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


def test_lead_and_spread():
    facts, narrow = facts_of("test"), facts_of("alignment error")
    assert facts["lead"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    assert narrow["lead"] < narrow["spread"] and narrow["undecided"] == 0, "ahead, by the seeds"


@pytest.mark.parametrize("column", COLUMNS)
def test_systems_ahead_and_behind_are_those_of_the_verdict(column):
    facts = facts_of(column)
    names = facts["names"]
    for name, n_ahead, n_behind in zip(names, facts["beats"], facts["beaten_by"], strict=True):
        verdicts = [verdict(column, name, rival) for rival in names if rival != name]
        assert (n_ahead, n_behind) == (verdicts.count("ahead"), verdicts.count("behind"))
    assert sum(facts["beats"]) == sum(facts["beaten_by"])
    assert facts["undecided"] == len(names) - 1 - facts["beats"][0]


def test_the_verdict_names_the_number_of_undecided_comparisons():
    facts = facts_of("pronouns")
    assert facts["undecided"] >= 5, "by the seeds alone it is 5"
    assert int(re.findall(r"\d+", leaderboard.verdict_text(facts))[0]) == facts["undecided"]
    assert facts_of("alignment error")["undecided"] == 0


def test_with_r_drop_all_seeds_agree_and_the_first_is_undecided():
    facts = facts_of("BLEU R-Drop")
    first, *others = facts["seeds"]
    assert all(beats(first, rival, True) == "yes" for rival in others) and facts["undecided"] == 2
    assert facts["by_sentences"] == 2


def test_each_interval_contains_the_mean_of_its_seeds():
    for column in ("BLEU beam", "21 to 30 words"):
        facts = facts_of(column)
        assert any(facts["intervals"])
        for seeds, ends in zip(facts["seeds"], facts["intervals"], strict=True):
            assert ends is None or ends[0] <= sum(seeds) / 3 <= ends[1]


def test_columns_without_sentences_have_no_intervals():
    for column in ("parameters", "training", "alignment error", "perplexity"):
        assert facts_of(column)["intervals"] == [None] * len(facts_of(column)["names"])
        assert interval(column, facts_of(column)["names"][0]) is None


def test_lines_leave_out_what_has_no_interval():
    x, y = leaderboard.lines([(1.0, 3.0), None], 1.0, 4.0)
    assert x[:2].tolist() == [0.0, 0.5] and y[:2].tolist() == [0, 0]
    assert all(value != value for value in x[2:])


def test_the_ceiling_is_named_where_many_systems_reach_it():
    texts = {column: leaderboard.lead_text(facts_of(column)) for column in ("1 to 5 words", "depth")}
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
    assert "worst-seed" in goals_met(column="negation", rank_by=WORST)
    assert goals_met(column="BLEU beam") == goals_met(column="pronoun class") == set()


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
