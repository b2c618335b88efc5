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
    concerns,
    even,
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


def tables(rule, *names):
    def nothing_is_run(line: str) -> None:
        assert line.endswith("on record"), line

    return trial(rule, {name: name for name in names}, tell=nothing_is_run)


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
    assert set(RULES) == {"mirror", "even", "very last"}


def test_mirror_is_open(mirrored):
    came = verdict(says("transformer", "bahdanau", "rule", 10), mirrored)
    assert came["verdict"] == "open" and round(came["least"], 1) == 8.7
    assert "the closest pair of seeds is 8.7 apart" in SOURCE
    quiet = [points for name in ("transformer", "bahdanau") for points in lost(mirrored, "rest", name)]
    assert round(max(quiet), 1) == 3.4 and "at most 3.4 points on *rest*" in SOURCE
    means = [round(mean(lost(mirrored, "rule", name)), 1) for name in ("transformer", "bahdanau")]
    assert means == [20.7, 7.3] and "20.7 points against 7.3" in QUIZ
    assert 5 < means[0] - means[1] < 15
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
    assert means == [5.4, 9.5] and "5.4 points against 9.5" in QUIZ


def test_very_last_failed():
    found = tables(very_last, "convs2s", "bahdanau")
    assert verdict(says("convs2s", "bahdanau", "rule", 10), found)["verdict"] == "failed"
    assert mean(lost(found, "rule", "convs2s")) < mean(lost(found, "rule", "bahdanau"))


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
