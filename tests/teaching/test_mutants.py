"""Every check against its own slips, and against wrong and right answers.

A lesson's `wrong_answers.py` has answers that are wrong in other ways than the exercise's slips, or that show
the same misconception in other code: WRONG ones, each with the slip and the words that the verdict must
contain (None where no slip may be recognised), and RIGHT ones written in other ways.
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.exercises import (
    FileExercise,
    ModuleExercise,
    PlainExercise,
    TestExercise,
    find_exercise,
    guarded_call,
    judge,
)
from course_lib.teaching.exercises.catalogue import exercise_topics, load_exercises
from course_lib.teaching.exercises.comparison import tensors_match, values_match
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.function_examination import FunctionExamination
from course_lib.teaching.exercises.tensor_exercise import compute_outputs

GENERAL_SLIPS = {  # that any exercise may have
    *("dtype", "exit", "in-place", "large-numbers", "left-over", "missing-output", "no-gradient"),
    *("not-a-function", "not-finite", "numpy", "parameters", "python-numbers", "raises", "returns-none"),
    *("swapped-outputs", "too-slow", "tuple", "wrong-count", "wrong-gradient", "wrong-shape", "wrong-type"),
    *("random", "wrong-form"),
    *("buffer", "dropout-elsewhere", "dropout-in-eval", "dropout-rate", "fixed-seed", "frozen"),  # modules
    *("initial-size", "initial-values", "instance", "no-super", "not-a-class", "not-a-module"),
    *("dropout-not-scaled", "parameter-names", "parameter-shape", "plain-tensor", "shared-parameter"),
    *("unregistered-container", "changes-parameters", "dropout-in-one-piece", "keep-probability"),
    "mode-dependent",
    *("lets-through", "never-calls", "rejects-the-right-one", "returns-instead", "too-strict", "unrepaired"),
}
DERIVED_SLIPS = {  # from the reference and from its inputs, for any function; see test_judging.py
    *("equal-numbers", "tiny-numbers", "unmasked-numbers", "zero-numbers"),
    *("input-doubled", "input-ignored", "input-inverted", "input-negated", "input-reshaped"),
    *("input-transposed", "swapped-inputs", "fixed-axes"),
}
KNOWN_SLIPS = GENERAL_SLIPS | DERIVED_SLIPS

# A file to write has wrong files instead of wrong answers; see lessons/l14_the_transformer.
FOUND = {name: find_exercise(name) for name in exercise_topics()}
EXERCISES = {name: exercise for name, exercise in FOUND.items() if not isinstance(exercise, FileExercise)}
PACKAGES = [*(lesson.package for lesson in lessons()), "tests.double_it"]
ANSWERS = [import_module(f"{package}.wrong_answers") for package in PACKAGES]


def name_of(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


WRONG = [
    pytest.param(EXERCISES[name], attempt, expected, id=f"{name}-{i}-{name_of(attempt)}-{expected[0]}")
    for module in ANSWERS
    for name, rows in module.WRONG.items()
    for i, (attempt, *expected) in enumerate(rows)
]
RIGHT = [
    pytest.param(EXERCISES[name], attempt, id=f"{name}-{name_of(attempt)}")
    for module in ANSWERS
    for name, attempts in module.RIGHT.items()
    for attempt in [*attempts, EXERCISES[name].reference]
]
EACH = [pytest.param(exercise, id=name) for name, exercise in EXERCISES.items()]


@pytest.fixture(autouse=True)
def wrong_answers_are_a_learners(monkeypatch):
    """Their files are in the lessons' folders, whose code is otherwise the course's.

    And none of them breaks the reference, which a check otherwise tries again before it says "wrong".
    """
    monkeypatch.setattr(FunctionExamination, "works", lambda examination: True)
    is_learners = guarded_call._is_learners
    monkeypatch.setattr(
        guarded_call, "_is_learners", lambda file: file.endswith("wrong_answers.py") or is_learners(file)
    )


@pytest.mark.parametrize(("exercise", "attempt", "expected"), WRONG)
def test_a_wrong_answer_is_caught_and_its_slip_recognised(exercise, attempt, expected):
    if name_of(attempt).startswith("never_ends"):
        exercise = replace(exercise, seconds=0.3)
    verdict = judge(exercise, attempt)
    assert verdict.status == "wrong", f"this wrong answer passes: {name_of(attempt)}"
    slips = {slip.name: slip for slip in getattr(exercise, "slips", ())}
    for slip_or_words in expected:
        if slip_or_words is None or slip_or_words in slips or slip_or_words in KNOWN_SLIPS:
            assert verdict.slip == slip_or_words, str(verdict)
        else:
            assert slip_or_words in str(verdict)
    assert expected[0] in slips or verdict.slip not in slips, "this diagnosis is wrong"
    if slip := slips.get(verdict.slip):
        assert verdict.misconception == slip.misconception and slip.message in str(verdict)
    else:
        assert verdict.misconception is None


@pytest.mark.parametrize(("exercise", "attempt"), RIGHT)
def test_a_right_answer_passes_however_it_is_written_and_soon(exercise, attempt):
    for _ in range(3):  # another program may hold the machine up once
        start = time.process_time()
        verdict = judge(exercise, attempt)
        seconds = time.process_time() - start
        assert verdict.status == "passed", str(verdict)
        if seconds < exercise.seconds / 2:  # slower machines need room below the limit of the check
            return
    pytest.fail(f"the check took {seconds:.2f} s")


@pytest.mark.parametrize("exercise", EACH)
def test_an_exercise_is_declared_well(exercise: Exercise):
    assert exercise.lesson == exercise_topics()[exercise.name]
    assert sum(len(module.RIGHT.get(exercise.name, [])) for module in ANSWERS) >= 3
    if isinstance(exercise, TestExercise):
        return
    names = [slip.name for slip in exercise.slips]
    assert len(set(names)) == len(names) and not KNOWN_SLIPS & set(names)
    assert {slip.misconception for slip in exercise.slips} - {None} <= set(misconceptions())
    if isinstance(exercise, ModuleExercise):
        assert len(exercise.cases) >= 3, "one call proves little"
        return
    if isinstance(exercise, PlainExercise):
        assert exercise.design or len(exercise.others) >= 3, "one call proves little"
        by_hand = exercise.cases[0]
        assert exercise.design or values_match(by_hand.expected, exercise.reference(*by_hand.make()))
        return
    sizes = [size for size in exercise.sizes.values() if isinstance(size, int)]
    assert len(set(sizes)) == len(sizes) and min(sizes) > 1, "sizes must differ, and none may be 1"
    by_hand = exercise.cases[0]
    outputs = compute_outputs(exercise.reference, by_hand.make())
    assert all(tensors_match(*pair) for pair in zip(by_hand.expected, outputs, strict=True))


@pytest.mark.parametrize("name", ["soft_lookup", "scaled_attention"])
def test_the_large_cases_have_scores_around_30_and_around_300(name):
    cases = find_exercise(name).cases
    large = [case for case in cases if case.variation and case.variation.name == "large"]
    for case, (low, high) in zip(large, [(20, 80), (200, 900)], strict=True):
        query, keys = case.make()[:2]
        root = 1 if name == "soft_lookup" else 4
        assert low < (query @ keys.mT / root).abs().max() < high
        assert torch.equal(query, query.round())


def test_every_general_slip_has_a_wrong_answer_and_no_two_exercises_share_a_name():
    rows = [row for module in ANSWERS for rows in module.WRONG.values() for row in rows]
    assert {slip_or_words for _, *expected in rows for slip_or_words in expected} >= GENERAL_SLIPS
    assert len(FOUND) == sum(len(load_exercises(lesson.topic)) for lesson in lessons())


@pytest.mark.parametrize("exercise", [case for case in EACH if getattr(case.values[0], "slips", ())])
def test_each_slip_is_wrong_and_recognised(exercise: Exercise):
    """Judged as an answer, each gets its own name. So it differs from the reference and from all others."""
    verdicts = {slip.name: judge(exercise, slip.wrong) for slip in exercise.slips}
    named = {name: (verdict.status, verdict.slip) for name, verdict in verdicts.items()}
    assert named == {name: ("wrong", name) for name in verdicts}
