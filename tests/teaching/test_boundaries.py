"""Where one verdict, date or count ends and the next begins."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import torch

from course_lib.teaching import count_own_calls, start_lesson
from course_lib.teaching.contents import FULL, SHORT, hours, lessons
from course_lib.teaching.exercises import ByHand, PlainExercise, find_exercise, judge
from course_lib.teaching.exercises.gradients import compare_gradients
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.own_code.kept_file import KeptFunction, list_own_functions, write_function
from course_lib.teaching.progress import Progress

DOUBLE_IT = find_exercise("double_it")


def normal(n: int) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator("cpu").manual_seed(0))


CUBE = PlainExercise(
    name="cube",
    lesson="start_here",
    inputs=("x",),
    by_hand=ByHand({"x": torch.tensor([1.0, 2.0])}, [1.0, 8.0], "2 · 2 · 2 = 8."),
    others=(lambda: (normal(3),), lambda: (normal(5),)),
    reference=lambda x: x**3,
)


# ---- verdicts


def loses_a_little_gradient(x):
    cube = x**3
    return 0.99 * cube + 0.01 * cube.detach()


def leaves_a_gradient(x):
    x.requires_grad_()
    (x**3).sum().backward()
    return x**3


@pytest.mark.parametrize(
    ("attempt", "slip"), [(loses_a_little_gradient, "wrong-gradient"), (leaves_a_gradient, "in-place")]
)
def test_right_numbers_are_not_enough(attempt, slip):
    verdict = judge(CUBE, attempt)
    assert (verdict.status, verdict.slip) == ("wrong", slip), str(verdict)


@pytest.mark.parametrize("part", [0.9, 1.1])
@pytest.mark.parametrize("difference", [(1.03e-3, 0.0), (0.0, 3e-5)])
def test_a_gradient_may_differ_by_rounding_of_itself_or_of_the_largest_and_no_more(part, difference):
    right = torch.tensor([1.0, 0.0])
    attempt, reference = (
        lambda x, slope=slope: (slope * x).sum() for slope in (right + part * torch.tensor(difference), right)
    )
    verdict = compare_gradients(attempt, reference, lambda: (torch.ones(2),), ["x"], TimeLimit(5.0))
    assert (verdict is None) == (part < 1)


def loop(x):
    while True:
        pass


def slow_backwards(x):
    return loop(x) if x.requires_grad else x**3


def slow_the_second_time():
    seen = set()

    def attempt(x):
        inputs = tuple(x.tolist())
        if inputs in seen:
            loop(x)
        seen.add(inputs)
        return x**3

    return attempt


@pytest.mark.parametrize("attempt", [slow_backwards, slow_the_second_time()])
def test_the_time_limit_holds_for_every_call_of_a_check(attempt):
    """Also for the second call of a case, and for the one whose gradients are compared."""
    assert judge(replace(CUBE, seconds=0.5), attempt).slip == "too-slow"


def test_the_working_is_shown_only_if_the_worked_example_is_wrong():
    n = len(DOUBLE_IT.by_hand.inputs["numbers"])
    elsewhere = judge(DOUBLE_IT, lambda numbers: 2 * numbers if len(numbers) == n else 7 * numbers)
    everywhere = judge(DOUBLE_IT, lambda numbers: 7 * numbers)
    assert [DOUBLE_IT.by_hand.says in verdict.details for verdict in (elsewhere, everywhere)] == [False, True]


# ---- progress


def answer(kind: str, lesson: str, correct: bool) -> dict:
    wrong = {} if correct else {"misconception": "M10"}
    return {"kind": kind, "lesson": lesson, "name": "which", "correct": correct, **wrong}


@pytest.mark.parametrize(
    ("kind", "lesson", "put_right"),
    [("quiz", "masks", True), ("quiz", "positions", False), ("prediction", "masks", False)],
)
def test_only_the_same_question_puts_a_misconception_right(kind, lesson, put_right):
    """Another lesson, or another kind of question, may use the same name."""
    learner = Progress((answer("quiz", "masks", False), answer(kind, lesson, True)))
    assert [(shown.times, shown.put_right) for shown in learner.misconceptions] == [(1, put_right)]


@pytest.mark.parametrize(("track", "rounded"), [(FULL, "2"), (SHORT, "1")])
def test_hours_are_rounded_to_the_nearest(track, rounded):
    rows = [replace(lessons()[0], minutes=55, short_minutes=25)] * 2
    assert rounded in hours(rows, track).split()


def test_every_seed_of_a_lesson_gives_numbers_of_its_own():
    drawn = []
    for seed in (0, 8):
        start_lesson("start_here", seed=seed)
        drawn.append(torch.rand(1).item())
    assert drawn[0] != drawn[1]


# ---- the learner's own code


def test_the_day_a_function_first_passed_stays(course_home):
    source = "def double_it(numbers):\n    return 2 * numbers"
    for day, text in (("2026-01-01", source), ("2026-02-02", f"{source}\n\n")):
        write_function(KeptFunction("double_it", "00", day, text))
    assert [function.date for function in list_own_functions()] == ["2026-01-01"]
    assert not (course_home / "my_road_backups").exists(), "nothing was replaced"
    write_function(KeptFunction("double_it", "00", "2026-03-03", source.replace("2 *", "2.0 *")))
    assert [function.date for function in list_own_functions()] == ["2026-03-03"]


def test_counting_calls_gives_back_a_profiler_that_was_there():
    def profiler(frame, event, arg):
        pass

    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        count_own_calls(lambda: None)
        after = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert after is profiler
