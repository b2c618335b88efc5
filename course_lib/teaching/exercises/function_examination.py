"""How a function is examined: called in every case and compared with the reference, and its slip is named.

A slip is recognised by what the function returns in every case, never by how it is written. The one exception
is a number that the function reads from the notebook and not from its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from course_lib.teaching.code_reading import find_notebook_numbers, has_same_code, uses_hash
from course_lib.teaching.exercises.answer import Answer, find_tensors, with_plain_tensors
from course_lib.teaching.exercises.comparison import values_match
from course_lib.teaching.exercises.examination import Examination, Found
from course_lib.teaching.exercises.exercise import Slip
from course_lib.teaching.exercises.function_exercise import Case, FunctionExercise, Trial
from course_lib.teaching.exercises.guarded_call import CallResult
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    join_words,
    quote_names,
    wrong_verdict,
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
NONE_HERE = "Your function returned `None` for these inputs. Does every path through it return a value?"


@dataclass
class FunctionExamination(Examination):
    """Every case gets an answer; then the answers, their form, and everything else are checked.

    `trials` are the cases with an answer. A call that failed in another case is reported if all answers are
    right, and is otherwise mentioned at the end.
    """

    exercise: FunctionExercise
    trials: list[Trial] = field(default_factory=list)
    failures: list[Verdict] = field(default_factory=list)
    failed_cases: list[Case] = field(default_factory=list)
    form_problems: list[Verdict] = field(default_factory=list)

    def works(self) -> bool:
        """Whether the reference still solves the first case, which is the worked example."""
        try:
            case = self.exercise.cases[0]
            return not self.exercise.find_problem([Trial(case, self.call_in(case).answer.value)])
        except Exception:
            return False

    def examine(self) -> Verdict:
        exercise = self.exercise
        if problem := exercise.find_early_problem(self):
            return problem
        self.try_cases()
        if problem := self.find_chance():
            return problem
        if problem := exercise.find_problem(self.trials):
            first_failed = self.failed_cases[:1] == [exercise.cases[0]]
            shown = self.explained(self.failures[0] if first_failed else problem, all_right=False)
            return self.with_observations(shown, self.failures[first_failed:])
        if self.failures:
            return self.with_observations(self.explained(self.failures[0], all_right=True))
        if self.form_problems:
            n_left = len(self.form_problems)
            left = "is still one thing" if n_left == 1 else f"are still {n_left} things"
            details = join_paragraphs(*(form.headline for form in self.form_problems))
            headline = f"The values are right, but there {left} to fix."
            return wrong_verdict(headline, details, self.form_problems[0].slip)
        praise = exercise.praise(len(self.trials) - 1)
        return exercise.find_further_problem(self) or Verdict("", "passed", praise, self.notebook_numbers())

    # ---- the calls

    def try_cases(self) -> None:
        """Fill the lists; an answer that can't be read, or whose call failed, is among the failures."""
        for case in self.exercise.cases:
            result = self.call_in(case)
            failure = self.explain_failure(result)
            if failure is None and not isinstance(result.answer, Verdict):
                self.trials.append(Trial(case, result.answer.value))
                known = {problem.slip for problem in self.form_problems}
                self.form_problems += [form for form in result.answer.form_problems if form.slip not in known]
                continue
            failure = failure or result.answer  # why the answer can't be read
            is_first = case is self.exercise.cases[0]
            if failure.slip == "returns-none" and not is_first:
                failure = replace(failure, headline=NONE_HERE, details="")
            given = self.exercise.describe_call(case) if failure.status == "wrong" else ""
            self.failures.append(replace(failure, given=given))
            self.failed_cases.append(case)
            if is_first and failure.slip not in ("raises", "returns-none", "wrong-type"):
                raise Found(self.failures[0])  # the other cases say no more
            if failure.slip in ("too-slow", "too-much-memory"):
                return

    def call_in(self, case: Case, seed: int = 0) -> CallResult:
        """The answer in a case, with a form problem if the inputs were changed."""
        inputs = case.make()
        tensors = [id(tensor) for _, tensor in find_tensors(inputs, "")]
        function = self.exercise.as_function(self.attempt, case)

        def read(value: Any) -> Answer | Verdict:
            answer = self.exercise.read(with_plain_tensors(value), case)
            originals = zip(self.exercise.names, case.make(), inputs, strict=True)
            unchanged = partial(values_match, exact_tensors=True)
            changed = {name: before for name, before, after in originals if not unchanged(before, after)}
            if not changed or isinstance(answer, Verdict):
                return answer
            still_there = [id(tensor) for _, tensor in find_tensors(inputs, "")] == tensors
            has_tensors = any(find_tensors(tuple(changed.values()), ""))
            advice = NEW_TENSOR if has_tensors and still_there else NEW_CONTAINER
            headline = f"{IN_PLACE.format(quote_names(list(changed)))} {advice}"
            problem = wrong_verdict(headline, slip="in-place")
            return replace(answer, form_problems=(*answer.form_problems, problem))

        return self.call(partial(function, *inputs), read, seed)

    def find_chance(self) -> Verdict | None:
        """Whether an answer changes if the same call is made again, with another random seed."""
        for trial in () if self.exercise.may_vary else self.trials[:2]:
            again = self.call_in(trial.case, seed=1)
            if again.timed_out:
                return self.explain_failure(again)
            failed = again.failure or isinstance(again.answer, Verdict)
            if failed or not values_match(trial.answer, again.answer.value):
                return wrong_verdict(*self.exercise.CHANCE, given=self.exercise.describe_call(trial.case))
        if self.trials and not self.exercise.may_vary and uses_hash(self.attempt):
            return wrong_verdict(HASH, HASH_ADVICE, "random")
        return None

    # ---- the cause

    def explained(self, problem: Verdict, all_right: bool) -> Verdict:
        """The problem, with its likely cause if that is recognised."""
        exercise, trials = self.exercise, self.trials
        if not trials or problem.slip == "swapped-outputs":
            return problem
        if exercise.unrepaired and self.matches(exercise.unrepaired, must_fail=all_right):
            status = "not tried" if has_same_code(self.attempt, exercise.unrepaired) else "wrong"
            return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
        if slip := self.find_slip(all_right):
            details = join_paragraphs(f"Likely cause: {slip.message}", problem.details)
            return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)
        if problem.slip == "raises" and all_right:
            if optional := self.describe_optional():
                return replace(problem, details=join_paragraphs(optional, problem.details))
            if axes := self.describe_axes():
                return replace(problem, details=join_paragraphs(axes, problem.details), slip="fixed-axes")
        return problem

    def find_slip(self, all_right: bool) -> Slip | None:
        """The slip that gives the same answers, and fails in the failed cases if all answers are right.

        So must a derived one if there are few answers, which can be equal by chance.
        """
        few = len(self.trials) < len(self.failed_cases)
        known = (slip for slip in self.exercise.slips if self.matches(slip.wrong, all_right))
        if slip := next(known, None):
            return slip
        derived = self.exercise.derived_slips(self.trials)
        return next((slip for slip in derived if self.matches(slip.wrong, all_right or few)), None)

    def matches(self, function: Callable, must_fail: bool) -> bool:
        same = all(self.matches_in(function, trial) for trial in self.trials)
        return same and (not must_fail or all(self.fails_in(function, case) for case in self.failed_cases))

    def matches_in(self, function: Callable, trial: Trial) -> bool:
        try:
            return self.exercise.behaves_like(function, trial)
        except Exception:  # a wrong function need not work for unusual inputs
            return trial.case.variation is not None

    def fails_in(self, function: Callable, case: Case) -> bool:
        try:
            self.exercise.as_function(function, case)(*case.make())
        except Exception:
            return True
        return False

    def describe_optional(self) -> str:
        """A sentence if it fails whenever an input that may be None is given, and is right without it."""
        right = [trial.case.make() for trial in self.trials]
        failing = [case.make() for case in self.failed_cases]
        for i, name in enumerate(self.exercise.names):
            if all(inputs[i] is None for inputs in right) and all(
                inputs[i] is not None for inputs in failing
            ):
                return f"It is correct if `{name}` is None, but fails otherwise."
        return ""

    def describe_axes(self) -> str:
        """A sentence if it fails only for inputs with more or fewer axes than those for which it is right."""

        def count_axes(case: Case) -> int:
            return next((tensor.ndim for _, tensor in find_tensors(case.make(), "")), 0)

        right, failing = (
            {count_axes(trial.case) for trial in self.trials},
            set(map(count_axes, self.failed_cases)),
        )
        if right & failing:
            return ""
        these, others = (join_words([str(n) for n in sorted(counts)]) for counts in (right, failing))
        return (
            f"It is correct for inputs with {these} axes, but fails for {others}. Allow any number of axes."
        )

    # ---- what else was noticed

    def with_observations(self, problem: Verdict, failures: Sequence[Verdict] = ()) -> Verdict:
        """The problem, with what else was noticed; if its slip is unknown, that may be the cause."""
        numbers = self.notebook_numbers()
        slips = [problem.slip, "left-over" if numbers else None, *(form.slip for form in self.form_problems)]
        besides = [f"Also: {form.headline}" for form in self.form_problems]
        for failure in failures[:1]:
            line, *message = failure.details.split("\n\n")[:2]  # without the advice
            if not line or line not in problem.details:
                headline = f"Also, for other inputs: {failure.headline}"
                besides.append(join_paragraphs(headline, line, *message))
        details = join_paragraphs(problem.details, numbers, *besides)
        return replace(problem, slip=next(filter(None, slips), None), details=details)

    def notebook_numbers(self) -> str:
        """A sentence about numbers that come from the notebook; empty if there are none."""
        if not (names := find_notebook_numbers(self.attempt)):
            return ""
        are, its, it = ("is a notebook variable, not a parameter", "Its value", "it")
        if len(names) > 1:
            are, its, it = ("are notebook variables, not parameters", "Their values", "them")
        uses = f"Your function uses {quote_names(names)}, which {are}."
        if not self.exercise.inputs:
            return f"{uses} {its} may change, so write {it} into the function."
        return f"{uses} {its} may be wrong for other inputs, so compute {it} from the inputs."
