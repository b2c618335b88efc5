"""Why it is wrong: told by what the function does in every case, never by how it is written.

The one exception is a number that the function takes from the notebook instead of from its inputs: that can
be seen in its code alone, and is worth a word even where it happens to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

from course_lib.teaching.answer import listed
from course_lib.teaching.exercise import outputs
from course_lib.teaching.learners_code import notebook_numbers, same_code
from course_lib.teaching.trying import Trial
from course_lib.teaching.verdict import Verdict

FIRST_VERSION = "This does what the first version did, and that is not right yet."


def explained(problem: Verdict, trials: list[Trial], attempt: Callable) -> Verdict:
    """The problem with its likely reason, where one is known."""
    exercise = trials[0].exercise
    if exercise.unrepaired and _does_as(exercise.unrepaired, trials):
        status = "not tried" if same_code(attempt, exercise.unrepaired) else "wrong"
        return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
    if _swapped(trials):
        order = f"The right things in the wrong order: `return {', '.join(exercise.returns)}`."
        return replace(problem, slip="swapped-outputs", details=order)
    for slip in exercise.slips:
        if _does_as(slip.wrong, trials):
            details = f"Likely slip: {slip.message}\n\n{problem.details}"
            return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)
    return problem


def left_over(attempt: Callable) -> str:
    """A sentence about numbers that come from the notebook; empty where there are none."""
    if not (names := notebook_numbers(attempt)):
        return ""
    what, them = ("a variable", "it") if len(names) == 1 else ("variables", "them")
    return (
        f"It uses {listed(names)}, {what} of the notebook and no parameter of the function: what fits one "
        f"call need not fit the next. Work {them} out from the inputs."
    )


def _does_as(function: Callable, trials: list[Trial]) -> bool:
    """Whether `function` gives the learner's own numbers, in every case and for every output.

    Where large numbers make the learner's infinite, two ways of writing the same thing may differ.
    """
    try:
        return all(
            trial.case.agree(theirs, got) or (trial.case.large and not got.isfinite().all())
            for trial in trials
            for theirs, got in zip(outputs(function, trial.case.inputs), trial.answer.outputs, strict=True)
        )
    except Exception:  # a wrong function need not work for every size
        return False


def _swapped(trials: list[Trial]) -> bool:
    return any(
        all(
            trial.case.agree(expected, trial.answer.outputs[i])
            for trial in trials
            for expected, i in zip(trial.case.expected, order, strict=True)
        )
        for order in permutations(range(len(trials[0].answer.outputs)))
    )
