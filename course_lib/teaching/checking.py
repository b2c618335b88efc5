"""`check`: try a learner's function and say what is so.

    >>> check("double_it", lambda numbers: numbers ** 2).slip
    'squares'

In this order: can it be called, what does it return, the shapes, what must hold for every right answer,
a case worked by hand, the reference on random cases. At the first thing that is wrong, the slips that the
exercise knows are tried: the one that gives the learner's own numbers is the likely one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

from torch import Tensor

from course_lib import runtime
from course_lib.formatting import rounded, rounded_apart, shape_text
from course_lib.teaching import progress
from course_lib.teaching.answer import Problem, Remark, listed
from course_lib.teaching.exercise import Exercise, Slip, outputs
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.trying import Trial, misuse, tried
from course_lib.teaching.verdict import Verdict


def check(name: str, attempt: Callable) -> Verdict:
    """Judge an attempt at the exercise called `name`, and remember the result in the learner's progress."""
    if name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(EXERCISES)}."
        raise ValueError(f"No exercise is called {name!r}. {advice}")
    verdict = judge(EXERCISES[name], attempt)
    if verdict.status != "not tried":
        event = {"kind": "exercise", "lesson": EXERCISES[name].lesson, "name": name, "status": verdict.status}
        progress.record(event | ({"misconception": verdict.misconception} if verdict.misconception else {}))
    if verdict.status != "passed" and runtime.switched_on("COURSE_STRICT"):
        raise AssertionError(str(verdict))
    return verdict


def judge(exercise: Exercise, attempt: Any) -> Verdict:
    """The verdict alone: nothing is recorded."""
    if problem := misuse(exercise, attempt):
        return _verdict(exercise, problem)
    trials, printed = tried(exercise, attempt)
    problem = trials if isinstance(trials, Problem) else _problem_with(trials)
    return _verdict(exercise, problem, printed)


def _verdict(exercise: Exercise, problem: Problem | None, printed: str = "") -> Verdict:
    if problem is None:
        cases = "one random case" if len(exercise.sizes) == 1 else f"{len(exercise.sizes)} random cases"
        headline = f"Right on the case worked by hand, and the same as the reference on {cases}."
        return Verdict(exercise.name, "passed", headline, printed=printed)
    return Verdict(
        exercise=exercise.name,
        status="not tried" if problem.not_tried else "wrong",
        headline=problem.headline,
        details=problem.details,
        slip=problem.slip,
        misconception=problem.misconception,
        given=problem.given,
        expected=problem.expected,
        got=problem.got,
        printed=printed,
    )


def _problem_with(trials: list[Trial]) -> Problem | None:
    """The first thing that is wrong with the answers, and the likely reason."""
    *random, worked = trials
    problem = (
        _first(map(_wrong_shape, trials))
        or _first(map(_not_finite, trials))
        or _first(map(_broken_invariant, random))
        or _wrong_by_hand(worked)
        or _first(map(_unlike_reference, random))
    )
    remarks = list(dict.fromkeys(remark for trial in trials for remark in trial.answer.remarks))
    if problem is None:
        return _only(remarks)
    problem = _explained(problem, random[0])
    besides = [f"Besides: {remark.message}" for remark in remarks]
    slip = problem.slip or (remarks[0].slip if remarks else None)
    return replace(problem, slip=slip, details="\n\n".join(filter(None, [problem.details, *besides])))


def _first(problems: Iterable[Problem | None]) -> Problem | None:
    return next(filter(None, problems), None)


def _only(remarks: list[Remark]) -> Problem | None:
    if not remarks:
        return None
    details = "\n\n".join(remark.message for remark in remarks)
    return Problem(remarks[0].slip, "The numbers are right; one thing is left to put right.", details)


# What is wrong: the stages, in the order in which they are asked.


def _wrong_shape(trial: Trial) -> Problem | None:
    for name, expected, got in trial.pairs:
        if expected.shape != got.shape:
            axes = ", ".join(trial.exercise.returns[name].split())
            return Problem(
                "wrong-shape",
                f"`{name}` has the wrong shape.",
                f"{_shape_hint(expected, got)}{trial.call}",
                expected=f"{shape_text(expected.shape)} = ({axes})",
                got=shape_text(got.shape),
            )
    return None


def _shape_hint(expected: Tensor, got: Tensor) -> str:
    if expected.ndim > 1 and got.shape == expected.shape[::-1]:
        return "Its axes are the wrong way round. "
    if got.ndim > expected.ndim and got.squeeze().shape == expected.squeeze().shape:
        return "It has an axis of size 1 too many. "
    if got.ndim < expected.ndim and got.shape == expected.squeeze().shape:
        return "An axis of size 1 was lost: `squeeze` drops every one. "
    return ""


def _not_finite(trial: Trial) -> Problem | None:
    for name, expected, got in trial.pairs:
        if not got.isfinite().all():
            why = "NaN comes from 0 / 0, from ∞ − ∞, and from a softmax over nothing but −∞."
            return Problem(
                "not-finite",
                f"`{name}` holds NaN or infinity.",
                f"{why} {trial.call}",
                expected=rounded(expected),
                got=rounded(got),
            )
    return None


def _broken_invariant(trial: Trial) -> Problem | None:
    inputs = zip(trial.exercise.inputs, trial.case.inputs, strict=True)
    it = SimpleNamespace(**dict(inputs), **{name: got for name, _, got in trial.pairs})
    for invariant in trial.exercise.invariants:
        measured = invariant.measure(it)
        wanted = measured.new_full(measured.shape, invariant.equals)
        if not trial.exercise.agree(wanted, measured):
            expected, got = rounded_apart(wanted, measured)
            headline = f"This must always hold: {invariant.says}."
            return Problem(None, headline, trial.call, expected=expected, got=got)
    return None


def _wrong_by_hand(trial: Trial) -> Problem | None:
    inputs = zip(trial.exercise.inputs, trial.case.inputs, strict=True)
    given = [_assigned(name, rounded(tensor)) for name, tensor in inputs]
    problem = _unequal(trial, "not what comes out by hand", trial.exercise.by_hand.says)
    return replace(problem, given="\n".join(given)) if problem else None


def _unlike_reference(trial: Trial) -> Problem | None:
    return _unequal(trial, "not as in the reference", trial.call)


def _unequal(trial: Trial, complaint: str, details: str) -> Problem | None:
    if not trial.wrong:
        return None
    wrong = [trial.pairs[i] for i in trial.wrong]
    names = [name for name, _, _ in wrong]
    right = [name for name in trial.exercise.returns if name not in names]
    praise = f"; {listed(right)} {_is(right)} right" if right else ""
    texts = [(name, *rounded_apart(expected, got)) for name, expected, got in wrong]
    return Problem(
        None,
        f"{listed(names)} {_is(names)} {complaint}{praise}.",
        details,
        expected="\n".join(_assigned(name, expected) for name, expected, _ in texts),
        got="\n".join(_assigned(name, got) for name, _, got in texts),
    )


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _assigned(name: str, text: str) -> str:
    return f"{name} = " + text.replace("\n", "\n" + " " * (len(name) + 3))


# Why it is wrong: by what the function does, never by how it is written.


def _explained(problem: Problem, trial: Trial) -> Problem:
    if trial.wrong and _only_swapped(trial):
        order = f"The right things in the wrong order: `return {', '.join(trial.exercise.returns)}`."
        return replace(problem, slip="swapped-outputs", details=order)
    found = _likely_slip(trial)
    if found is None:
        return problem
    slip, explains_all = found
    more = "" if explains_all else "That explains a part; something else is wrong besides."
    details = "\n\n".join(filter(None, [f"Likely slip: {slip.message}", more, problem.details]))
    return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)


def _only_swapped(trial: Trial) -> bool:
    expected = trial.case.expected
    return any(
        all(map(trial.exercise.agree, expected, order)) for order in permutations(trial.answer.outputs)
    )


def _likely_slip(trial: Trial) -> tuple[Slip, bool] | None:
    """The slip that gives the learner's own numbers, and whether it explains all that is wrong."""
    best, most = None, 0
    for slip in trial.exercise.slips:
        theirs = outputs(slip.wrong, trial.case.inputs)
        explained = sum(trial.exercise.agree(theirs[i], trial.answer.outputs[i]) for i in trial.wrong)
        if explained > most:
            best, most = slip, explained
    return (best, most == len(trial.wrong)) if best else None
