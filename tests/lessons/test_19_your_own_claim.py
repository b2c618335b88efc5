"""Figures and claims of lesson 19 are what is recorded."""

from __future__ import annotations

from statistics import mean

import pytest

from course_lib.bench.experiments import experiments
from course_lib.teaching.checking import exercise_called
from course_lib.teaching.lessons import lesson
from course_lib.translation.claim import (
    N_STEPS,
    RULES,
    by_length,
    concerns,
    even,
    kept_run,
    lost,
    make_system,
    mirror,
    small_world,
    trial,
    very_last,
)

FOLDER = lesson("your_own_claim").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")
verdict = exercise_called("verdict").reference


def tables(rule, *names, seeds=(0, 1, 2)):
    def nothing_is_run(line: str) -> None:
        assert line.endswith("on record"), line

    return trial(rule, {name: name for name in names}, seeds=seeds, tell=nothing_is_run)


@pytest.fixture(scope="module")
def mirrored():
    return tables(mirror, "transformer", "bahdanau")


@pytest.fixture(scope="module")
def counted():
    return tables(even, "no positions", "transformer")


def says(breaks, more_than, on, points):
    return {"breaks": breaks, "more_than": more_than, "on": on, "points": points}


def test_the_small_world_is_as_told():
    world = small_world()
    assert (len(world.train), len(world.test), len(world.long)) == (2209, 500, 276)
    assert sum(concerns(mirror, pair) for pair in world.test) == 50
    assert {pair.length for pair in world.train} == set(range(3, 9))
    assert N_STEPS == 600 and "600 steps a run" in SOURCE
    for name in ("transformer", "bahdanau", "convs2s", "no positions"):
        assert 80_000 < sum(p.numel() for p in make_system(name, 236).parameters()) < 125_000


def test_what_was_expected_is_what_the_lesson_says():
    expected = experiments()["claims"].expected
    assert "the Transformer loses at least 10 points more than Bahdanau" in expected
    assert "the Transformer without positions loses at least 20 points more" in expected
    assert "ConvS2S loses at least 10 points more than Bahdanau" in expected
    assert "ordinary sentences lose less than 5 points" in expected
    assert SOURCE.count("Ordinary sentences lose less than 5 points.*") == 2
    again = experiments()["claims_again"].expected
    assert "loses at least 5 points more than Bahdanau" in again
    assert "loses at least 5 points more than the Transformer without positions" in again
    assert SOURCE.count("**at least 5 points more**") == 2
    assert set(RULES) == {"mirror", "even", "very last"}


def paired_gap(found):
    """Least and most gap if each seed starts from its own run without the rule."""
    without, with_rule = (found[which]["rule"] for which in ("without", "with"))
    mine, theirs = (
        [a - b for a, b in zip(without[name], with_rule[name], strict=True)]
        for name in ("transformer", "bahdanau")
    )
    return round(min(mine) - max(theirs)), round(max(mine) - min(theirs))


def test_with_fresh_seeds_one_finding_held_and_one_shrank():
    fresh = (3, 4, 5)
    found = tables(mirror, "transformer", "bahdanau", seeds=fresh)
    came = verdict(says("transformer", "bahdanau", "rule", 5), found)
    assert came["verdict"] == "held" and round(came["least"], 1) == 14.0 and paired_gap(found)[0] == 14
    assert "the closest pair is 14.0 apart" in SOURCE
    found = tables(even, "transformer", "no positions", seeds=fresh)
    came = verdict(says("transformer", "no positions", "rest", 5), found)
    assert (came["verdict"], round(came["least"], 1), round(came["most"], 1)) == ("open", -1.0, 8.8)
    assert "the gap is −1.0 to 8.8" in SOURCE
    told = [[round(x, 1) for x in lost(found, "rest", name)] for name in ("transformer", "no positions")]
    assert told == [[14.8, 20.1, 13.7], [11.3, 14.7, 11.3]]
    assert "A 14.8, 20.1, 13.7, B 11.3, 14.7, 11.3" in QUIZ


def test_neither_counts_beyond_four_words():
    def shares(name, rule):
        seeds = [by_length(kept_run(name, rule, seed)) for seed in range(6)]
        return {n: round(mean(one[n] for one in seeds)) for n in seeds[0]}

    for name, before, after in (("transformer", 87, 43), ("no positions", 60, 29)):
        assert (shares(name, None)[7], shares(name, even)[7]) == (before, after)
        assert min(shares(name, even)[n] for n in (3, 4)) >= 95
        assert max(shares(name, even)[n] for n in (5, 6, 7, 8)) < 75
    assert "from 87 to 43, without positions from 60 to 29" in SOURCE
    short = [pair for pair in small_world().test if len(pair.src) < 5]
    assert len(short) == 304 and "304 of the 500" in SOURCE


def test_what_there_is_to_lose():
    rows = {"short": "test", "long": "long"}
    for words, part in rows.items():
        row = [
            round(
                mean(
                    100 * kept_run(name, None, seed)[part].count("1") / len(kept_run(name, None, seed)[part])
                    for seed in range(3)
                )
            )
            for name in ("bahdanau", "transformer", "convs2s", "no positions")
        ]
        assert f"| {words} sentences | " + " | ".join(map(str, row)) + " |" in SOURCE


def test_what_lesson_18_said_of_choosing():
    museum = (lesson("the_museum").folder / "lesson.py").read_text(encoding="utf-8")
    assert "Nine of fifteen." in museum and "nine of fifteen systems" in SOURCE


def test_mirror_is_open(mirrored):
    came = verdict(says("transformer", "bahdanau", "rule", 10), mirrored)
    assert came["verdict"] == "open" and round(came["least"], 1) == 8.7
    assert "the closest one is 8.7 apart" in SOURCE
    quiet = [points for name in ("transformer", "bahdanau") for points in lost(mirrored, "rest", name)]
    assert round(max(quiet), 1) == 3.4 and "held on *rest* (at most 3.4)" in SOURCE
    far = max(lost(mirrored, "rest, long", "transformer"))
    start = mean(mirrored["without"]["rest, long"]["transformer"])
    assert (round(far, 1), round(start)) == (6.1, 13) and "up to 6.1 of 13" in SOURCE
    assert max(lost(mirrored, "rest, long", "bahdanau")) < 5
    assert sorted(mirrored["without"]["rule"]["transformer"]) == [82, 90, 96]
    assert paired_gap(mirrored) == (-2, 28) and "from −2 to 28" in SOURCE
    means = [round(mean(lost(mirrored, "rule", name)), 1) for name in ("transformer", "bahdanau")]
    assert means == [20.7, 7.3] and "20.7 points against 7.3" in QUIZ
    assert 5 < means[0] - means[1] < 20
    assert sum(concerns(mirror, pair) for pair in small_world().train) == 359


def span(losses):
    return round(min(losses)), round(max(losses))


def test_even_failed_and_the_control_broke(counted):
    came = verdict(says("no positions", "transformer", "rule", 20), counted)
    assert came["verdict"] == "failed" and came["most"] < 6
    assert span(lost(counted, "rule", "no positions")) == (2, 9)
    assert span(lost(counted, "rule", "transformer")) == (4, 17)
    assert span(lost(counted, "rest", "no positions")) == (8, 10)
    assert span(lost(counted, "rest", "transformer")) == (16, 21)
    for name in ("no positions", "transformer"):
        assert mean(lost(counted, "rest", name)) > mean(lost(counted, "rule", name))
    means = [round(mean(lost(counted, "rule", name)), 1) for name in ("no positions", "transformer")]
    assert abs(means[0] - means[1]) < 10
    assert means == [5.4, 9.5] and "5.4 points against 9.5" in QUIZ


def test_very_last_failed():
    found = tables(very_last, "convs2s", "bahdanau")
    assert verdict(says("convs2s", "bahdanau", "rule", 10), found)["verdict"] == "failed"


def test_choosing_afterwards_makes_more_of_them_hold(mirrored, counted):
    gaps = []
    for found in (mirrored, counted):
        for split, row in found["with"].items():
            for one, other in (tuple(row), tuple(row)[::-1]):
                came = verdict(says(one, other, split, 3), found)
                gaps.append((came["least"], came["most"]))
    assert len(gaps) == 16
    assert sum(least >= 3 for least, _ in gaps) == 3 and sum(most >= 3 for _, most in gaps) == 8
    assert "Three, and eight." in SOURCE
    both = [
        verdict(says(*pair, "rule", 3), counted)["most"] >= 3
        for pair in (("no positions", "transformer"), ("transformer", "no positions"))
    ]
    assert both == [True, True]
