"""Every check against many wrong answers, each of which must be caught with the message that names its slip.

A lesson's `wrong_answers.py` holds, for each exercise, WRONG answers with the slip (or a part of the message)
that the verdict must name, and RIGHT answers written in other ways. An exercise without mutants fails here,
and so does a slip that no mutant shows.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest

from course_lib.teaching.checking import judge
from course_lib.teaching.exercise import Exercise, outputs
from course_lib.teaching.exercises import BY_LESSON, EXERCISES, load
from course_lib.teaching.lessons import lesson, lessons
from course_lib.teaching.misconceptions import misconceptions
from course_lib.teaching.verdict import Verdict

GENERAL = {
    "dtype",
    "exit",
    "in-place",
    "missing-output",
    "not-a-function",
    "not-finite",
    "numpy",
    "parameters",
    "python-numbers",
    "raises",
    "returns-none",
    "swapped-outputs",
    "too-slow",
    "tuple",
    "wrong-count",
    "wrong-shape",
    "wrong-type",
}


def answers(topic: str) -> ModuleType:
    return load(lesson(topic).folder / "wrong_answers.py")


ANSWERS = {topic: answers(topic) for topic in BY_LESSON}


def named(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


WRONG = [
    pytest.param(EXERCISES[name], attempt, says, id=f"{name}-{named(attempt)}-{i}")
    for module in ANSWERS.values()
    for name, rows in module.WRONG.items()
    for i, (attempt, says) in enumerate(rows)
]
RIGHT = [
    pytest.param(EXERCISES[name], attempt, id=f"{name}-{named(attempt)}")
    for module in ANSWERS.values()
    for name, attempts in module.RIGHT.items()
    for attempt in [*attempts, EXERCISES[name].reference]
]
EACH = [pytest.param(exercise, id=name) for name, exercise in EXERCISES.items()]


@cache
def verdict_on(exercise: Exercise, attempt: object) -> Verdict:
    seconds = 0.3 if named(attempt).startswith("never_ends") else exercise.seconds
    return judge(replace(exercise, seconds=seconds), attempt)


@pytest.mark.parametrize(("exercise", "attempt", "says"), WRONG)
def test_a_wrong_answer_is_caught_and_its_slip_named(exercise, attempt, says):
    verdict = verdict_on(exercise, attempt)
    assert verdict.status == "wrong", f"this mutant survives: {named(attempt)}"
    own = {slip.name: slip for slip in exercise.slips}
    if says in own:
        assert verdict.slip == says, str(verdict)
        assert own[says].message in str(verdict)
        assert verdict.misconception == own[says].misconception
    elif says in GENERAL:
        assert verdict.slip == says, str(verdict)
    else:
        assert says in str(verdict)


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
def test_every_slip_has_a_mutant_and_every_exercise_three_right_answers(exercise: Exercise):
    module = ANSWERS[exercise.lesson]
    tried = {says for _, says in module.WRONG.get(exercise.name, [])}
    assert {slip.name for slip in exercise.slips} <= tried
    assert len(module.RIGHT.get(exercise.name, [])) >= 3


def test_every_general_slip_has_a_mutant():
    assert {
        says for module in ANSWERS.values() for rows in module.WRONG.values() for _, says in rows
    } >= GENERAL


@pytest.mark.parametrize("exercise", EACH)
def test_the_first_case_tells_all_slips_apart(exercise: Exercise):
    sizes = list(exercise.sizes[0].values())
    assert len(set(sizes)) == len(sizes) and min(sizes) > 1, "sizes must differ, and none may be 1"
    case = exercise.random_cases()[0]
    found = {"the reference": case.expected}
    found |= {slip.name: outputs(slip.wrong, case.inputs) for slip in exercise.slips}
    for name, result in found.items():
        assert len(result) == len(exercise.returns), name
        for other, theirs in found.items():
            same = all(map(exercise.agree, result, theirs))
            assert same == (name == other), f"{name} and {other} give the same numbers"


@pytest.mark.parametrize("exercise", EACH)
def test_the_case_worked_by_hand_agrees_with_the_reference(exercise: Exercise):
    case = exercise.worked_case()
    assert all(map(exercise.agree, case.expected, outputs(exercise.reference, case.inputs)))


@pytest.mark.parametrize("exercise", EACH)
def test_an_exercise_is_filed_well(exercise: Exercise):
    assert exercise in BY_LESSON[exercise.lesson]
    assert exercise.lesson in {lesson.topic for lesson in lessons()}
    names = [slip.name for slip in exercise.slips]
    assert len(set(names)) == len(names) and not GENERAL & set(names)
    assert {slip.misconception for slip in exercise.slips} - {None} <= set(misconceptions())


def test_no_two_exercises_share_a_name():
    assert len(EXERCISES) == sum(map(len, BY_LESSON.values()))
