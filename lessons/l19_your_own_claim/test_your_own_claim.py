"""Figures and claims of lesson 19 are what is recorded."""

from __future__ import annotations

from statistics import mean

from course_lib.teaching.exercises.catalogue import exercise_called
from lessons.l19_your_own_claim.claim import (
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
from tests.lessons.told import Told
from tools.experiments.catalogue import experiments

L = Told("your_own_claim")
verdict = exercise_called("verdict").reference


def tables(rule, *names, seeds=(0, 1, 2)):
    def nothing_is_run(line: str) -> None:
        assert line.endswith("on record"), line

    return trial(rule, {name: name for name in names}, seeds=seeds, tell=nothing_is_run)


def says(breaks, more_than, on, points):
    return {"breaks": breaks, "more_than": more_than, "on": on, "points": points}


def test_the_small_world_is_as_told():
    world = small_world()
    assert (len(world.train), len(world.test), len(world.long)) == (2209, 500, 276)
    assert sum(concerns(mirror, pair) for pair in world.test) == 50
    assert {pair.length for pair in world.train} == set(range(3, 9))
    assert N_STEPS == 600
    L.says("600 steps a run")
    for name in ("transformer", "bahdanau", "convs2s", "no positions"):
        assert 80_000 < sum(p.numel() for p in make_system(name, 236).parameters()) < 125_000


def test_what_was_expected_is_what_the_lesson_says():
    for experiment, *texts in (
        (
            "claims",
            "the Transformer loses at least 10 points more than Bahdanau",
            "the Transformer without positions loses at least 20 points more",
            "ConvS2S loses at least 10 points more than Bahdanau",
            "ordinary sentences lose less than 5 points",
        ),
        (
            "claims_again",
            "loses at least 5 points more than Bahdanau",
            "loses at least 5 points more than the Transformer without positions",
        ),
    ):
        assert all(text in experiments()[experiment].expected for text in texts)
    for twice in ("Ordinary sentences lose less than 5 points.*", "**at least 5 points more**"):
        assert L.source.count(twice) == 2
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
    L.says("the closest pair is 14.0 apart")
    found = tables(even, "transformer", "no positions", seeds=fresh)
    came = verdict(says("transformer", "no positions", "rest", 5), found)
    assert (came["verdict"], round(came["least"], 1), round(came["most"], 1)) == ("open", -1.0, 8.8)
    L.says("the gap is −1.0 to 8.8")


def test_neither_counts_beyond_four_words():
    def shares(name, rule):
        seeds = [by_length(kept_run(name, rule, seed)) for seed in range(6)]
        return {n: round(mean(one[n] for one in seeds)) for n in seeds[0]}

    for name, before, after in (("transformer", 87, 43), ("no positions", 60, 29)):
        assert (shares(name, None)[7], shares(name, even)[7]) == (before, after)
        assert min(shares(name, even)[n] for n in (3, 4)) >= 95
        assert max(shares(name, even)[n] for n in (5, 6, 7, 8)) < 75
    assert sum(len(pair.src) < 5 for pair in small_world().test) == 304
    L.says("from 87 to 43, without positions from 60 to 29", "304 of the 500")


def test_what_there_is_to_lose_and_what_lesson_18_said_of_choosing():
    for words, part in (("short", "test"), ("long", "long")):
        row = []
        for name in ("bahdanau", "transformer", "convs2s", "no positions"):
            bits = [kept_run(name, None, seed)[part] for seed in range(3)]
            row.append(round(mean(100 * one.count("1") / len(one) for one in bits)))
        L.says(f"| {words} sentences | " + " | ".join(map(str, row)) + " |")
    Told("the_museum").says("Nine of fifteen.")
    L.says("nine of fifteen systems")


def test_what_the_printed_tables_leave_out():
    """The losses of each seed, and the verdicts, are printed by the lesson."""
    mirrored = tables(mirror, "transformer", "bahdanau")
    assert max(lost(mirrored, "rest, long", "bahdanau")) < 5
    assert sorted(mirrored["without"]["rule"]["transformer"]) == [82, 90, 96]
    assert paired_gap(mirrored) == (-2, 28)
    means = [round(mean(lost(mirrored, "rule", name)), 1) for name in ("transformer", "bahdanau")]
    assert means == [20.7, 7.3]
    assert sum(concerns(mirror, pair) for pair in small_world().train) == 359
    counted = tables(even, "no positions", "transformer")
    means = [round(mean(lost(counted, "rule", name)), 1) for name in ("no positions", "transformer")]
    assert means == [5.4, 9.5]
    L.says("from −2 to 28", "20.7 points against 7.3", "5.4 points against 9.5")
    found = tables(very_last, "convs2s", "bahdanau")
    assert verdict(says("convs2s", "bahdanau", "rule", 10), found)["verdict"] == "failed"
    for pair in (("no positions", "transformer"), ("transformer", "no positions")):
        assert verdict(says(*pair, "rule", 3), counted)["most"] >= 3
