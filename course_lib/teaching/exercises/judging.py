"""How an attempt is judged: it is called on every case and compared, and its likely slip is named.

    >>> from course_lib.teaching.exercises.catalogue import find_exercise
    >>> judge(find_exercise("double_it"), lambda numbers: numbers**2).slip
    'squares'

A slip is recognised by what the function returns in every case, never by how it is written. The one
exception is a number that the function reads from the notebook and not from its inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from course_lib.teaching.code_reading import (
    ends_the_session,
    find_notebook_numbers,
    has_same_code,
    uses_hash,
)
from course_lib.teaching.exercises.answer import Answer, find_tensors, with_plain_tensors
from course_lib.teaching.exercises.comparison import values_match
from course_lib.teaching.exercises.derived_slips import count_tensors, derive_slips
from course_lib.teaching.exercises.exercise import (
    Case,
    Exercise,
    FileExercise,
    FunctionExercise,
    TestExercise,
    Trial,
)
from course_lib.teaching.exercises.guarded_call import (
    EXIT,
    LEAVE,
    CallResult,
    call,
    explain_failure,
    find_learners_line,
    report_if_frozen,
    shorten_message,
)
from course_lib.teaching.exercises.module_exercise import ModuleExercise, judge_module
from course_lib.teaching.exercises.module_names import explain_class
from course_lib.teaching.exercises.session import find_replaced, ordinary_settings, restore_replaced
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    join_words,
    name_some,
    quote_names,
    with_article,
    wrong_verdict,
)

MOST_CALLS_PRINTED = 3
CHANCE = "Your function returned two different answers to the same inputs."
CHANCE_ADVICE = (
    "Does it use random numbers, or remember something from an earlier call (in a global variable, or in a "
    "default value such as `[]`)? The answer should depend on the inputs alone."
)
HASH = "Your function uses `hash`, whose value for a string changes whenever Python is restarted."
HASH_ADVICE = "Use something that stays the same, such as the length of a word or its index in a list."
FIRST_VERSION = "Your function still behaves exactly like the first version, which isn't right yet."
IN_PLACE = "Your function changes {} in place, but the caller may still need the original."
NEW_TENSOR = (
    "Create a new tensor (`y = x * 2` instead of `x *= 2`, and no methods that end in `_`), or copy it first "
    "with `x.clone()`."
)
NEW_CONTAINER = (
    "Create a new one (`x + [y]` instead of `x.append(y)`), or copy it first: `list(x)`, `dict(x)`."
)
REPLACED = "Your answer can't be judged, because {} isn't the library's own any more."
REPLACED_ADVICE = (
    "Every cell, and the check itself, now uses the replacement. Look for a line such as `torch.softmax = …` "
    "in your cells or in `my_road.py`, and give your own function another name. Then restart the kernel."
)
REPLACES = "Your function replaces {}, and not only for itself: every other cell would use the replacement."
REPLACES_ADVICE = (
    "The replacement has been undone. Give your own function another name: `def my_softmax(x):` instead of "
    "`torch.softmax = …`."
)
REFERENCE_FAILS = "Your answer can't be judged, because the reference solution doesn't work any more either."
REFERENCE_ADVICE = (
    "Something that ran in this session has changed torch, Python or the course. Restart the kernel, run the "
    "cells that define your function, then this one."
)
STRANGE = "Your function returned an object that raises an exception when it is compared or printed."
NONE_HERE = "Your function returned `None` for these inputs. Does every path through it return a value?"


def judge(exercise: Exercise, attempt: Any) -> Verdict:
    """The verdict on an attempt. Nothing is recorded or stored."""
    if replaced := find_replaced():
        headline = REPLACED.format(name_some(replaced))
        return Verdict(exercise.name, "not judged", headline, REPLACED_ADVICE)
    if isinstance(exercise, TestExercise):
        torch.testing.assert_close(0, 0)  # slow the first time; that shouldn't count
    printed: list[str] = []
    with ordinary_settings(), report_if_frozen(exercise.seconds):
        verdict = _judge_in_this_session(exercise, attempt, printed)
    return replace(verdict, exercise=exercise.name, printed="\n".join(filter(None, printed)))


def _judge_in_this_session(exercise: Exercise, attempt: Any, printed: list[str]) -> Verdict:
    """The verdict, unless the attempt changes the session, or the session has changed the reference."""
    limit = TimeLimit(exercise.seconds)
    judge_kind = _judge_of(exercise)
    verdict = error = None
    try:
        verdict = _check_signature(exercise, attempt) or judge_kind(exercise, attempt, limit, printed)
    except Exception as caught:  # in the course's own code
        error = caught
    if replaced := restore_replaced():
        return wrong_verdict(REPLACES.format(name_some(replaced)), REPLACES_ADVICE, "replaces")
    if (error or verdict.status == "wrong") and not _reference_works(exercise):
        return Verdict("", "not judged", REFERENCE_FAILS, REFERENCE_ADVICE)
    if error and (line := find_learners_line(error)):
        details = f"{type(error).__name__} in {line}"
        return wrong_verdict(STRANGE, join_paragraphs(details, shorten_message(error)), "strange-object")
    if error:
        raise error
    return verdict


def _judge_of(exercise: Exercise) -> Callable[..., Verdict]:
    """The function that judges this kind of exercise."""
    judges = {TestExercise: _judge_test, ModuleExercise: judge_module, FileExercise: _judge_file}
    return next((judge for kind, judge in judges.items() if isinstance(exercise, kind)), _judge_function)


def _reference_works(exercise: Exercise) -> bool:
    """Whether the reference still solves its worked example, or a test still accepts the right function."""
    limit = TimeLimit(exercise.seconds)
    if isinstance(exercise, TestExercise):
        return call(lambda: exercise.reference(exercise.of.reference), limit).failure is None
    if isinstance(exercise, ModuleExercise | FileExercise):
        return _judge_of(exercise)(exercise, exercise.reference, limit, []).status == "passed"
    try:
        case = exercise.cases[0]
        result = _call_with(case, exercise, exercise.reference, limit)
        return not exercise.find_problem([Trial(case, result.answer.value)])
    except Exception:
        return False


def _check_signature(exercise: Exercise, attempt: Any) -> Verdict | None:
    """Why the attempt can't be called with the exercise's inputs at all."""
    if isinstance(exercise, FileExercise):
        return None
    what, called = "function", "called"
    if isinstance(exercise, ModuleExercise):
        what, called = "class", "constructed"
        if problem := explain_class(exercise.name, attempt):
            return problem
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
        return wrong_verdict(f"Your {what} can't be {called} {how}.", details, "parameters")
    return None


def _judge_file(exercise: FileExercise, attempt: Any, limit: TimeLimit, printed: list[str]) -> Verdict:
    if not isinstance(attempt, Path):
        headline = f"`check` expects the path of a file, but got {with_article(type(attempt).__name__)}."
        return wrong_verdict(headline, f'Write `check("{exercise.name}", own_file_path())`.', "not-a-path")
    return exercise.judge_file(attempt, limit, printed)


# ---- a function to write


def _judge_function(
    exercise: FunctionExercise, attempt: Callable, limit: TimeLimit, printed: list[str]
) -> Verdict:
    """Every case gets an answer; then the answers, their form, and everything else are checked.

    The worked example comes first. A call that failed elsewhere is reported if all answers are right, and is
    otherwise mentioned at the end.
    """
    trials: list[Trial] = []
    form_problems: list[Verdict] = []
    failures: list[Verdict] = []
    failed_cases: list[Case] = []
    for number, case in enumerate(exercise.cases, start=1):
        result = _call_with(case, exercise, attempt, limit)
        if result.printed and number <= MOST_CALLS_PRINTED:
            printed.append(f"call {number}:\n{result.printed}")
        failure = explain_failure(result, exercise.seconds)
        if failure or isinstance(result.answer, Verdict):
            failure = failure or result.answer  # why the answer can't be read
            if failure.slip == "returns-none" and number > 1:
                failure = replace(failure, headline=NONE_HERE, details="")
            given = exercise.describe_call(case) if failure.status == "wrong" else ""
            failures.append(replace(failure, given=given))
            failed_cases.append(case)
            if number == 1 and not _is_worth_going_on(failures[0]):
                return failures[0]
            if failure.slip in ("too-slow", "too-much-memory"):
                break
            continue
        trials.append(Trial(case, result.answer.value))
        known = {problem.slip for problem in form_problems}
        form_problems += [problem for problem in result.answer.form_problems if problem.slip not in known]
    by_hand_failed = not trials or not trials[0].case.by_hand
    if problem := _find_chance(exercise, attempt, trials[: 0 if exercise.may_vary else 2], limit):
        return problem
    if problem := exercise.find_problem(trials):
        shown = failures.pop(0) if by_hand_failed else problem
        shown = _explain_problem(shown, exercise, attempt, trials, failed_cases)
        return _add_observations(shown, exercise, attempt, form_problems, failures)
    if failures:
        shown = _explain_problem(failures[0], exercise, attempt, trials, failed_cases)
        if shown.slip == "raises" and (optional := _describe_optional(exercise, trials, failed_cases)):
            shown = replace(shown, details=join_paragraphs(optional, shown.details))
        elif shown.slip == "raises" and (axes := _describe_axes(trials, failed_cases)):
            shown = replace(shown, details=join_paragraphs(axes, shown.details), slip="fixed-axes")
        return _add_observations(shown, exercise, attempt, form_problems, [])
    if form_problems:
        details = join_paragraphs(*(problem.headline for problem in form_problems))
        left = "is still one thing" if len(form_problems) == 1 else f"are still {len(form_problems)} things"
        headline = f"The values are right, but there {left} to fix."
        return wrong_verdict(headline, details, form_problems[0].slip)
    if problem := exercise.find_further_problem(attempt, limit):
        return problem
    return Verdict(
        "", "passed", exercise.praise(len(trials) - 1), _describe_notebook_numbers(exercise, attempt)
    )


def _describe_optional(exercise: FunctionExercise, trials: list[Trial], failed_cases: list[Case]) -> str:
    """A sentence if it fails whenever an input that may be None is given, and is right without it."""
    right = [trial.case.make() for trial in trials]
    failing = [case.make() for case in failed_cases]
    for i, name in enumerate(exercise.inputs if trials else ()):
        if all(inputs[i] is None for inputs in right) and all(inputs[i] is not None for inputs in failing):
            return f"It is correct if `{name}` is None, but fails otherwise."
    return ""


def _describe_axes(trials: list[Trial], failed_cases: list[Case]) -> str:
    """A sentence if it fails only for inputs with more or fewer axes than those for which it is right."""

    def count_axes(case: Case) -> int:
        return next((tensor.ndim for _, tensor in find_tensors(case.make(), "")), 0)

    right, failing = {count_axes(trial.case) for trial in trials}, {count_axes(case) for case in failed_cases}
    if not right or right & failing:
        return ""
    these, others = (join_words([str(n) for n in sorted(counts)]) for counts in (right, failing))
    return f"It is correct for inputs with {these} axes, but fails for {others}. Allow any number of axes."


def _is_worth_going_on(failure: Verdict) -> bool:
    """Whether the other cases may say more about a function that failed on the worked example."""
    return failure.status == "wrong" and failure.slip in ("raises", "returns-none", "wrong-type")


def _find_chance(
    exercise: FunctionExercise, attempt: Callable, trials: list[Trial], limit: TimeLimit
) -> Verdict | None:
    """Whether an answer changes if the same call is made again, with another random seed."""
    for trial in trials:
        again = _call_with(trial.case, exercise, attempt, limit, seed=1)
        if again.timed_out:
            return explain_failure(again, exercise.seconds)
        failed = again.failure or isinstance(again.answer, Verdict)
        if failed or not values_match(trial.answer, again.answer.value):
            return wrong_verdict(CHANCE, CHANCE_ADVICE, "random", given=exercise.describe_call(trial.case))
    if trials and uses_hash(attempt):
        return wrong_verdict(HASH, HASH_ADVICE, "random")
    return None


def _call_with(
    case: Case, exercise: FunctionExercise, attempt: Callable, limit: TimeLimit, seed: int = 0
) -> CallResult:
    inputs = case.make()
    tensors = list(find_tensors(inputs, ""))

    def read(value: Any) -> Answer | Verdict:
        """The answer, with a form problem if the inputs were changed."""
        answer = exercise.read(with_plain_tensors(value), case)
        originals = zip(exercise.inputs, case.make(), inputs, strict=True)
        unchanged = partial(values_match, exact_tensors=True)
        changed = {name: before for name, before, after in originals if not unchanged(before, after)}
        if not changed or isinstance(answer, Verdict):
            return answer
        still_there = [id(tensor) for _, tensor in find_tensors(inputs, "")] == [id(t) for _, t in tensors]
        has_tensors = any(find_tensors(tuple(changed.values()), ""))
        advice = NEW_TENSOR if has_tensors and still_there else NEW_CONTAINER
        problem = wrong_verdict(f"{IN_PLACE.format(quote_names(list(changed)))} {advice}", slip="in-place")
        return replace(answer, form_problems=(*answer.form_problems, problem))

    return call(partial(attempt, *inputs), limit, read, seed=seed)


def _explain_problem(
    problem: Verdict,
    exercise: FunctionExercise,
    attempt: Callable,
    trials: list[Trial],
    failed_cases: list[Case],
) -> Verdict:
    """The problem, with its likely slip if one is recognised: the slip's function gives the same answers.

    It must also fail in the failed cases, if all answers are right. So must a derived one if there are few
    answers, which can be equal by chance.
    """
    all_right, few = not exercise.find_problem(trials), len(trials) < len(failed_cases)

    def matches(function: Callable, must_fail: bool = all_right) -> bool:
        same = all(matches_in(function, trial) for trial in trials)
        return same and (not must_fail or all(fails_in(function, case) for case in failed_cases))

    def matches_in(function: Callable, trial: Trial) -> bool:
        try:
            return exercise.behaves_like(function, trial)
        except Exception:  # a wrong function need not work for unusual inputs
            return trial.case.variation is not None

    def fails_in(function: Callable, case: Case) -> bool:
        try:
            function(*case.make())
        except Exception:
            return True
        return False

    if not trials:
        return problem
    if exercise.unrepaired and matches(exercise.unrepaired):
        status = "not tried" if has_same_code(attempt, exercise.unrepaired) else "wrong"
        return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
    slip = next((slip for slip in exercise.slips if matches(slip.wrong)), None)
    if slip is None and not exercise.design:
        example = max((trial.case.make() for trial in trials), key=count_tensors)
        derived = derive_slips(list(exercise.inputs), exercise.reference, example)
        slip = next((slip for slip in derived if matches(slip.wrong, all_right or few)), None)
    if slip is None or problem.slip == "swapped-outputs":
        return problem
    details = join_paragraphs(f"Likely cause: {slip.message}", problem.details)
    return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)


def _add_observations(
    problem: Verdict,
    exercise: FunctionExercise,
    attempt: Callable,
    form_problems: list[Verdict],
    failures: list[Verdict],
) -> Verdict:
    """The problem, with what else was noticed; if its slip is unknown, that may be the cause."""
    notebook_text = _describe_notebook_numbers(exercise, attempt)
    slips = [problem.slip, "left-over" if notebook_text else None, *(form.slip for form in form_problems)]
    besides = [f"Also: {form.headline}" for form in form_problems]
    if failures:
        line, *message = failures[0].details.split("\n\n")[:2]  # without the advice
        if not line or line not in problem.details:
            headline = f"Also, for other inputs: {failures[0].headline}"
            besides.append(join_paragraphs(headline, line, *message))
    details = join_paragraphs(problem.details, notebook_text, *besides)
    return replace(problem, slip=next(filter(None, slips), None), details=details)


def _describe_notebook_numbers(exercise: FunctionExercise, attempt: Callable) -> str:
    """A sentence about numbers that come from the notebook; empty if there are none."""
    if not (names := find_notebook_numbers(attempt)):
        return ""
    are, its, it = ("is a notebook variable, not a parameter", "Its value", "it")
    if len(names) > 1:
        are, its, it = ("are notebook variables, not parameters", "Their values", "them")
    uses = f"Your function uses {quote_names(names)}, which {are}."
    if not exercise.inputs:
        return f"{uses} {its} may change, so write {it} into the function."
    return f"{uses} {its} may be wrong for other inputs, so compute {it} from the inputs."


# ---- a test to write

HOW_TO_REJECT = (
    "A test rejects an implementation by raising an exception, as `assert` and `torch.testing.assert_close` "
    "do. Its return value is ignored."
)
NEVER_RAISES = (
    "Your test raised no exception at all. Does it check too little, or does a `try` hide the exception? "
    "`assert (a == b, message)`, with parentheses, never fails."
)
ROUNDING = "If it compares decimal numbers, does it allow for rounding errors?"
REJECTS_RIGHT = f"Is what your test expects correct? {ROUNDING}"
TOO_STRICT = f"Does your test require more than the task says? {ROUNDING}"
MISTAKES_IN_THE_TEST = {"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError"}


def _judge_test(exercise: TestExercise, attempt: Callable, limit: TimeLimit, printed: list[str]) -> Verdict:
    """The test accepts the reference, then other right implementations, and rejects the wrong ones."""
    n_calls = 0

    def run_on(implementation: Callable) -> CallResult:
        def counted(*inputs: object, **named: object) -> object:
            nonlocal n_calls
            n_calls += 1
            names = list(exercise.of.inputs)[len(inputs) :]  # wrong ones have different parameter names
            return implementation(*inputs, *(named[name] for name in names if name in named))

        return call(lambda: attempt(counted), limit)

    what, result = exercise.what, run_on(exercise.of.reference)
    printed.append(result.printed)  # what it prints for the others repeats this
    problem = explain_failure(result, exercise.seconds, "This happened with a correct implementation.")
    if result.failure and result.failure.exception == "AssertionError":
        problem = explain_failure(result, exercise.seconds, REJECTS_RIGHT)
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
    wrong = exercise.wrong_implementations()
    results = {description: run_on(implementation) for description, implementation in wrong.items()}
    for description, result in results.items():
        mistaken = result.failure and result.failure.exception in MISTAKES_IN_THE_TEST
        if result.timed_out or mistaken:
            with_wrong = f"This happened with a wrong implementation: one that {description}."
            return explain_failure(result, exercise.seconds, with_wrong)
    if missed := [description for description, result in results.items() if not result.failure]:
        caught = [description for description in results if description not in missed]
        returns_instead = any(results[description].answer is not None for description in missed)
        slip = "returns-instead" if returns_instead else "lets-through"
        advice = HOW_TO_REJECT if returns_instead else "" if caught else NEVER_RAISES
        headline = f"Your test catches {len(caught)} of {len(results)} wrong implementations."
        return wrong_verdict(
            headline, join_paragraphs(advice, _list_up("missed", missed), _list_up("caught", caught)), slip
        )
    headline = f"Your test accepts every correct implementation and catches all {len(results)} wrong ones."
    return Verdict("", "passed", headline)


def _list_up(verb: str, descriptions: list[str]) -> str:
    """A line for each; empty if there is none."""
    return "\n".join([f"It {verb} one that", *(f"• {text}" for text in descriptions)]) if descriptions else ""
