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
