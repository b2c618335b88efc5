"""Every check against many wrong answers, each of which must be caught with the message that names its slip.

A slip is a wrong answer already: its own function is tried. A lesson's `wrong_answers.py` adds answers
written differently, or wrong in another way: WRONG ones with the slip and the words that the verdict must
hold (None where no slip may be named), and RIGHT ones written in other ways.
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from course_lib.teaching.contents import lesson, lessons, misconceptions
from course_lib.teaching.exercises.answer import agree, same
from course_lib.teaching.exercises.any_exercise import AnyExercise, judge
from course_lib.teaching.exercises.catalogue import exercise_called, exercises_of, topics
from course_lib.teaching.exercises.plain_exercise import PlainExercise
from course_lib.teaching.exercises.tensor_exercise import outputs_of
from course_lib.teaching.exercises.written_test import TestExercise

GENERAL = {
    *("dtype", "exit", "in-place", "large-numbers", "left-over", "missing-output", "no-gradient"),
    *("not-a-function", "not-finite", "numpy", "parameters", "python-numbers", "raises", "returns-none"),
    *("swapped-outputs", "too-slow", "tuple", "wrong-count", "wrong-gradient", "wrong-shape", "wrong-type"),
}

EXERCISES = {name: exercise_called(name) for name in topics()}
ANSWERS = [import_module(f"{one.package}.wrong_answers") for one in lessons()]


def named(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


WRONG = [
    pytest.param(exercise_called(name), attempt, says, id=f"{name}-{i}-{named(attempt)}-{says[0]}")
    for module in ANSWERS
    for name, rows in module.WRONG.items()
    for i, (attempt, *says) in enumerate(rows)
]
SLIPS = [
    pytest.param(exercise, slip, id=f"{name}-{slip.name}")
    for name, exercise in EXERCISES.items()
    if not isinstance(exercise, TestExercise)
    for slip in exercise.slips
]
RIGHT = [
    pytest.param(exercise_called(name), attempt, id=f"{name}-{named(attempt)}")
    for module in ANSWERS
    for name, attempts in module.RIGHT.items()
    for attempt in [*attempts, exercise_called(name).reference]
]
EACH = [pytest.param(exercise, id=name) for name, exercise in EXERCISES.items()]


@pytest.mark.parametrize(("exercise", "slip"), SLIPS)
def test_a_slip_is_recognised_and_credited_with_no_other_belief(exercise, slip):
    verdict = judge(exercise, slip.wrong)
    assert (verdict.status, verdict.slip) == ("wrong", slip.name), str(verdict)
    assert verdict.misconception == slip.misconception
    assert slip.message in str(verdict)


@pytest.mark.parametrize(("exercise", "attempt", "says"), WRONG)
def test_a_wrong_answer_is_caught_and_its_slip_named(exercise, attempt, says):
    seconds = 0.3 if named(attempt).startswith("never_ends") else exercise.seconds
    verdict = judge(replace(exercise, seconds=seconds), attempt)
    assert verdict.status == "wrong", f"this mutant survives: {named(attempt)}"
    own = {slip.name: slip.misconception for slip in getattr(exercise, "slips", ())}
    assert verdict.misconception == own.get(verdict.slip)
    for words in says:
        if words is None or words in own or words in GENERAL:
            assert verdict.slip == words, str(verdict)
        else:
            assert words in str(verdict)
    if says[0] not in own:
        assert verdict.slip not in own, "this diagnosis is wrong"


@pytest.mark.parametrize(("exercise", "attempt"), RIGHT)
def test_a_right_answer_passes_however_it_is_written_and_soon(exercise, attempt):
    for _ in range(3):  # another program may hold the machine up once
        start = time.process_time()
        verdict = judge(exercise, attempt)
        took = time.process_time() - start
        assert verdict.status == "passed", str(verdict)
        if took < 0.5:
            return
    pytest.fail(f"the check took {took:.2f} s")


@pytest.mark.parametrize("exercise", EACH)
def test_an_exercise_is_declared_well(exercise: AnyExercise):
    assert exercise.lesson == topics()[exercise.name]
    assert exercise.lesson in {lesson.topic for lesson in lessons()}
    answers = import_module(f"{lesson(exercise.lesson).package}.wrong_answers")
    assert len(answers.RIGHT.get(exercise.name, [])) >= 3
    if isinstance(exercise, TestExercise):
        return
    names = [slip.name for slip in exercise.slips]
    assert len(set(names)) == len(names) and not GENERAL & set(names)
    assert {slip.misconception for slip in exercise.slips} - {None} <= set(misconceptions())
    if isinstance(exercise, PlainExercise):
        assert exercise.design or len(exercise.others) >= 3, "one call proves little"
        by_hand = exercise.cases()[0]
        assert exercise.design or same(by_hand.expected, exercise.reference(*by_hand.make()))
        return
    sizes = [size for size in exercise.sizes.values() if isinstance(size, int)]
    assert len(set(sizes)) == len(sizes) and min(sizes) > 1, "sizes must differ, and none may be 1"
    by_hand = exercise.cases()[0]
    given = outputs_of(exercise.reference, by_hand.make())
    assert all(agree(*pair) for pair in zip(by_hand.expected, given, strict=True))


@pytest.mark.parametrize("name", ["soft_lookup", "scaled_attention"])
def test_the_cases_hold_scores_around_30_and_around_300(name):
    assert [case.large for case in exercise_called(name).cases()] == [False] * 5 + [True] * 2
    for case, (low, high) in zip(exercise_called(name).cases()[-2:], [(20, 80), (200, 900)], strict=True):
        query, keys = case.make()[:2]
        root = 1 if name == "soft_lookup" else 4
        assert low < (query @ keys.mT / root).abs().max() < high
        assert torch.equal(query, query.round())


def test_every_general_slip_has_a_mutant_and_no_two_exercises_share_a_name():
    said = {
        words for module in ANSWERS for rows in module.WRONG.values() for _, *says in rows for words in says
    }
    assert said >= GENERAL
    assert len(EXERCISES) == sum(len(exercises_of(one.topic)) for one in lessons())
