"""How an attempt is judged: its examination, in an ordinary session that it doesn't change.

>>> from course_lib.teaching.exercises.catalogue import find_exercise
>>> judge(find_exercise("exact_match"), lambda translations, references: 0.75).slip
'worked-example'
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib.teaching.code_reading import ends_the_session
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.exercise import Exercise, FileExercise
from course_lib.teaching.exercises.failures import EXIT, LEAVE
from course_lib.teaching.exercises.function_examination import FunctionExamination
from course_lib.teaching.exercises.guarded_call import find_learners_line, shorten_message
from course_lib.teaching.exercises.module_exercise import ModuleExercise
from course_lib.teaching.exercises.module_names import explain_class
from course_lib.teaching.exercises.session import find_replaced, ordinary_settings, restore_replaced
from course_lib.teaching.exercises.testing_exercise import TestExamination, TestExercise
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    name_some,
    quote_names,
    with_article,
    wrong_verdict,
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


def judge(exercise: Exercise, attempt: Any) -> Verdict:
    """The verdict on an attempt. Nothing is recorded or stored."""
    if replaced := find_replaced():
        headline = REPLACED.format(name_some(replaced))
        return Verdict(exercise.name, "not judged", headline, REPLACED_ADVICE)
    if isinstance(exercise, TestExercise):
        torch.testing.assert_close(0, 0)  # slow the first time; that shouldn't count
    with ordinary_settings(), warnings.catch_warnings(action="ignore"):  # they would quote the reference
        examination = examination_of(exercise, attempt)
        verdict = _judge_in_this_session(examination)
    return replace(verdict, exercise=exercise.name, printed=examination.all_printed())


def examination_of(exercise: Exercise, attempt: Any) -> Examination:
    """A new examination, whose time begins now."""
    kind = TestExamination if isinstance(exercise, TestExercise) else FunctionExamination
    if isinstance(exercise, FileExercise):
        kind = exercise.examination
    return kind(exercise, attempt, TimeLimit(exercise.seconds))


def _judge_in_this_session(examination: Examination) -> Verdict:
    """The verdict, unless the attempt changes the session, or the session has changed the reference."""
    exercise, attempt = examination.exercise, examination.attempt
    verdict = error = None
    try:
        verdict = _check_signature(exercise, attempt) or examination.verdict()
    except Exception as caught:  # in the course's own code
        error = caught
    if replaced := restore_replaced():
        return wrong_verdict(REPLACES.format(name_some(replaced)), REPLACES_ADVICE, "replaces")
    if (error or verdict.status == "wrong") and not examination_of(exercise, exercise.reference).works():
        return Verdict("", "not judged", REFERENCE_FAILS, REFERENCE_ADVICE)
    if error and (line := find_learners_line(error)):
        details = f"{type(error).__name__} in {line}"
        return wrong_verdict(STRANGE, join_paragraphs(details, shorten_message(error)), "strange-object")
    if error:
        raise error
    return verdict


def _check_signature(exercise: Exercise, attempt: Any) -> Verdict | None:
    """Why the attempt can't be called with the exercise's inputs at all."""
    if isinstance(exercise, FileExercise):
        if isinstance(attempt, Path):
            return None
        headline = f"`check` expects the path of a file, but got {with_article(type(attempt).__name__)}."
        return wrong_verdict(headline, f'Write `check("{exercise.name}", own_file_path())`.', "not-a-path")
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
