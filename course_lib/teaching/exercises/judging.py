"""How an attempt is judged: it is called on every case and compared, and its likely slip is named.

    >>> from course_lib.teaching.exercises.catalogue import find_exercise
    >>> judge(find_exercise("double_it"), lambda numbers: numbers**2).slip
    'squares'

A slip is recognised by what the function returns in every case, never by how it is written. The one
exception is a number that the function reads from the notebook and not from its inputs.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from course_lib.teaching.code_reading import ends_the_session, find_notebook_numbers, has_same_code
from course_lib.teaching.exercises.answer import Answer, values_match
from course_lib.teaching.exercises.exercise import Case, Exercise, FunctionExercise, TestExercise, Trial
from course_lib.teaching.exercises.guarded_call import EXIT, LEAVE, CallResult, call, explain_failure
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    join_words,
    quote_names,
    with_article,
    wrong_verdict,
)

MOST_CALLS_PRINTED = 3
FIRST_VERSION = "Your function still behaves exactly like the first version, which isn't right yet."
IN_PLACE = (
    "Your function changes {} in place, but the caller may still need the original. Create a new tensor "
    "(`y = x * 2` instead of `x *= 2`, and no methods that end in `_`), or copy it first: `x.clone()`, "
    "`list(x)`, `dict(x)`."
)


def judge(exercise: Exercise, attempt: Any) -> Verdict:
    """The verdict on an attempt. Nothing is recorded or stored."""
    deadline = time.monotonic() + exercise.seconds
    printed: list[str] = []
    judge_kind = _judge_test if isinstance(exercise, TestExercise) else _judge_function
    verdict = _check_signature(exercise, attempt) or judge_kind(exercise, attempt, deadline, printed)
    return replace(verdict, exercise=exercise.name, printed="\n".join(printed))


def _check_signature(exercise: Exercise, attempt: Any) -> Verdict | None:
    """Why the attempt can't be called with the exercise's inputs at all."""
    if not callable(attempt):
        usage = f'`check("{exercise.name}", {exercise.name})`'
        headline = f"`check` expects a function, but got {with_article(type(attempt).__name__)}."
        advice = f"Pass the function itself, without calling it: {usage}."
        return wrong_verdict(headline, advice, "not-a-function")
    if ends_the_session(attempt):
        return wrong_verdict(EXIT, LEAVE, "exit")
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # some built-in functions have none
        return None
    wanted, parameters = list(exercise.inputs), list(signature.parameters)
    details = f"Expected `{exercise.name}({', '.join(wanted)})`, but your parameters are `{signature}`."
    if parameters != wanted and sorted(parameters) == sorted(wanted):
        return wrong_verdict("The parameters are in the wrong order.", details, "parameters")
    try:
        signature.bind(*wanted)
    except TypeError:
        how = f"with {quote_names(wanted)}" if wanted else "without arguments"
        return wrong_verdict(f"Your function can't be called {how}.", details, "parameters")
    return None


# ---- a function to write


def _judge_function(
    exercise: FunctionExercise, attempt: Callable, deadline: float, printed: list[str]
) -> Verdict:
    """Every case gets an answer; then the answers, their form, and everything else are checked."""
    trials: list[Trial] = []
    form_problems: list[Verdict] = []
    for number, case in enumerate(exercise.cases(), start=1):
        result = _call_with(case, exercise, attempt, deadline)
        if result.printed and number <= MOST_CALLS_PRINTED:
            printed.append(f"call {number}:\n{result.printed}")
        if result.timed_out or result.failure:
            return explain_failure(result, exercise.seconds, exercise.describe_call(case))
        if isinstance(result.answer, Verdict):
            return result.answer  # why it can't be read
        trials.append(Trial(case, result.answer.value))
        form_problems += [problem for problem in result.answer.form_problems if problem not in form_problems]
    if problem := exercise.find_problem(trials):
        problem = _explain_problem(problem, exercise, attempt, trials)
        return _add_observations(problem, attempt, form_problems)
    if form_problems:
        details = join_paragraphs(*(problem.headline for problem in form_problems))
        left = "one thing" if len(form_problems) == 1 else f"{len(form_problems)} things"
        headline = f"The numbers are right, but there is still {left} to fix."
        return wrong_verdict(headline, details, form_problems[0].slip)
    if problem := exercise.find_further_problem(attempt, deadline):
        return problem
    return Verdict("", "passed", exercise.praise(len(trials) - 1), _describe_notebook_numbers(attempt))


def _call_with(case: Case, exercise: FunctionExercise, attempt: Callable, deadline: float) -> CallResult:
    inputs = case.make()

    def read(value: Any) -> Answer | Verdict:
        """The answer, with a form problem if the inputs were changed."""
        answer = exercise.read(value, case)
        originals = zip(exercise.inputs, case.make(), inputs, strict=True)
        unchanged = partial(values_match, exact_tensors=True)
        changed = [name for name, before, after in originals if not unchanged(before, after)]
        if not changed or isinstance(answer, Verdict):
            return answer
        problem = wrong_verdict(IN_PLACE.format(quote_names(changed)), slip="in-place")
        return replace(answer, form_problems=(*answer.form_problems, problem))

    return call(partial(attempt, *inputs), deadline, read)


def _explain_problem(
    problem: Verdict, exercise: FunctionExercise, attempt: Callable, trials: list[Trial]
) -> Verdict:
    """The problem, with its likely slip if one is recognised."""

    def matches(function: Callable) -> bool:
        try:
            return all(exercise.behaves_like(function, trial) for trial in trials)
        except Exception:  # a wrong function need not work for every input
            return False

    if exercise.unrepaired and matches(exercise.unrepaired):
        status = "not tried" if has_same_code(attempt, exercise.unrepaired) else "wrong"
        return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
    slip = next((slip for slip in exercise.slips if matches(slip.wrong)), None)
    if slip is None or problem.slip == "swapped-outputs":
        return problem
    details = join_paragraphs(f"Likely cause: {slip.message}", problem.details)
    return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)


def _add_observations(problem: Verdict, attempt: Callable, form_problems: list[Verdict]) -> Verdict:
    """The problem, with what else was noticed; if its slip is unknown, that may be the cause."""
    notebook_text = _describe_notebook_numbers(attempt)
    slips = [problem.slip, "left-over" if notebook_text else None, *(form.slip for form in form_problems)]
    besides = [f"Also: {form.headline}" for form in form_problems]
    details = join_paragraphs(problem.details, notebook_text, *besides)
    return replace(problem, slip=next(filter(None, slips), None), details=details)


def _describe_notebook_numbers(attempt: Callable) -> str:
    """A sentence about numbers that come from the notebook; empty if there are none."""
    if not (names := find_notebook_numbers(attempt)):
        return ""
    are, its, it = ("is a notebook variable, not a parameter", "Its value", "it")
    if len(names) > 1:
        are, its, it = ("are notebook variables, not parameters", "Their values", "them")
    return (
        f"Your function uses {quote_names(names)}, which {are}. {its} may be wrong for other inputs, so "
        f"compute {it} from the inputs."
    )


# ---- a test to write

MOST_NAMED = 3
HOW_TO_REJECT = (
    "A test rejects an implementation by raising an exception, as `assert` and `torch.testing.assert_close` "
    "do. Its return value is ignored."
)
TOO_STRICT = "Does your test require more than the task says, or allow no rounding error?"
MISTAKES_IN_THE_TEST = {"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError"}


def _judge_test(exercise: TestExercise, attempt: Callable, deadline: float, printed: list[str]) -> Verdict:
    """The test accepts the reference, then other right implementations, and rejects the wrong ones."""
    n_calls = 0

    def run_on(implementation: Callable) -> CallResult:
        def counted(*inputs: object, **named: object) -> object:
            nonlocal n_calls
            n_calls += 1
            names = list(exercise.of.inputs)[len(inputs) :]  # wrong ones have different parameter names
            return implementation(*inputs, *(named[name] for name in names))

        return call(lambda: attempt(counted), deadline)

    what, result = exercise.what, run_on(exercise.of.reference)
    printed.append(result.printed)  # what it prints for the others repeats this
    problem = explain_failure(result, exercise.seconds, "This happened with a correct implementation.")
    if result.failure and result.failure.exception == "AssertionError":
        problem = explain_failure(result, exercise.seconds, "")
        problem = replace(
            problem,
            headline=f"Your test rejects a correct implementation of the {what}.",
            slip="rejects-the-right-one",
        )
    if problem:
        return problem
    if not n_calls:
        advice = "Call it with inputs of your own, and check what it returns."
        return wrong_verdict("Your test never calls the function it is given.", advice, "never-calls")
    for style, implementation in exercise.accepts.items():
        if problem := explain_failure(run_on(implementation), exercise.seconds, TOO_STRICT):
            headline = f"Your test rejects a correct implementation of the {what}, written {style}."
            return replace(problem, headline=headline, slip="too-strict")
    slips = {slip.name: slip.wrong for slip in exercise.of.slips}
    results = {description: run_on(slips[name]) for name, description in exercise.rejects.items()}
    for description, result in results.items():
        mistaken = result.failure and result.failure.exception in MISTAKES_IN_THE_TEST
        if result.timed_out or mistaken:
            return explain_failure(
                result,
                exercise.seconds,
                f"This happened with a wrong implementation: one that {description}.",
            )
    if undetected := [description for description, result in results.items() if not result.failure]:
        returns_instead = any(results[description].answer is not None for description in undetected)
        slip = "returns-instead" if returns_instead else "lets-through"
        headline = _describe_undetected(undetected, len(results))
        return wrong_verdict(headline, HOW_TO_REJECT if returns_instead else "", slip)
    headline = f"Your test accepts every correct implementation and catches all {len(results)} wrong ones."
    return Verdict("", "passed", headline)


def _describe_undetected(undetected: list[str], n_wrong: int) -> str:
    if len(undetected) == n_wrong:
        return f"Your test accepts all {n_wrong} wrong implementations. Does it assert anything?"
    named = [f"one that {description}" for description in undetected[:MOST_NAMED]]
    more = [f"{len(undetected) - MOST_NAMED} more"] if len(undetected) > MOST_NAMED else []
    caught = f"Your test catches {n_wrong - len(undetected)} of {n_wrong} wrong implementations."
    return f"{caught} It misses {join_words([*named, *more])}."
