"""What all exercises have in common: what is asked, the slips people make, and how an attempt is judged.

A kind of exercise (`tensor_exercise`, `plain_exercise`) says which cases are tried, how an answer is read,
and what is wrong with the answers. The rest is here: `stages` is all that an attempt goes through, in order,
and a wrong answer gets its reason. Reasons are told by what the function does in every case, never
by how it is written; the one exception is a number that it takes from the notebook, not from its inputs.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from course_lib.teaching.exercises.answer import Answer, same
from course_lib.teaching.exercises.code_reading import notebook_numbers, same_code
from course_lib.teaching.exercises.guarded_call import CallResult, call
from course_lib.teaching.exercises.no_answer import mishap, misuse
from course_lib.teaching.exercises.verdict import Verdict, listed, paragraphs, wrong

FIRST_VERSION = "This does what the first version did, and that is not right yet."
IN_PLACE = (
    "It changed its input {} in place, and whoever called it may still need that. Make a new tensor "
    "(`y = x * 2`, not `x *= 2`, and no functions whose name ends in `_`) or a copy: `list(x)`, `dict(x)`."
)
MOST_CALLS_PRINTED = 3


@dataclass(frozen=True)
class Slip:
    """A known wrong answer. `message` tells what seems to have happened and what to do; `misconception` only
    where nobody does this without believing that: who forgets the scale believes nothing about it."""

    name: str
    wrong: Callable
    message: str
    misconception: str | None = None


@dataclass(frozen=True)
class ByHand:
    """A case small enough to work out on paper. `says` is the working, in words."""

    inputs: Mapping[str, Any]
    answer: Any
    says: str


@dataclass(frozen=True, eq=False)
class Case:
    """`make` gives the inputs of one call, new each time; `expected` is what the right function gives."""

    make: Callable[[], tuple]
    expected: Any = None
    by_hand: bool = False
    large: bool = False


class Trial(NamedTuple):
    """A case and what the learner's function gave for it."""

    case: Case
    given: Any


def judge(exercise: AnyExercise, attempt: Any) -> Verdict:
    """The verdict on an attempt, from the first stage that comes to one: nothing is recorded or kept."""
    until, printed = time.monotonic() + exercise.seconds, []
    stages = exercise.stages(attempt, until, printed)
    verdict = misuse(exercise.name, exercise.inputs, attempt) or next(filter(None, stages))
    return replace(verdict, exercise=exercise.name, printed="\n".join(printed))


@dataclass(frozen=True, kw_only=True, eq=False)
class AnyExercise(ABC):
    """One exercise of any kind. `inputs` are the names of the parameters (or a table by name). `library` is
    what later lessons use for who has not passed; without it, the reference. `seconds` is the time that all
    calls of one check may take together."""

    name: str
    lesson: str
    inputs: Sequence[str] | Mapping[str, Any]
    reference: Callable
    library: Callable | None = None
    seconds: float = 5.0

    @abstractmethod
    def stages(self, attempt: Callable, until: float, printed: list[str]) -> Iterator[Verdict | None]:
        """All that is looked at, in order: a verdict, or None to go on. The last stage always has one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionExercise(AnyExercise):
    """A function to write. `unrepaired` is the buggy one of an exercise to find a bug."""

    slips: tuple[Slip, ...] = ()
    unrepaired: Callable | None = None

    @abstractmethod
    def cases(self) -> list[Case]:
        """Every call that is made, always the same; the first is the one worked by hand."""

    @abstractmethod
    def read(self, value: Any, case: Case) -> Answer | Verdict:
        """What was returned as an answer, or why it cannot be read."""

    @abstractmethod
    def problem(self, trials: list[Trial]) -> Verdict | None:
        """The first thing that is wrong with the answers."""

    @abstractmethod
    def call_text(self, case: Case) -> str:
        """What a call was made with."""

    @abstractmethod
    def does_as(self, function: Callable, trial: Trial) -> bool:
        """Whether one of the course's own functions gives what the learner's gave."""

    def last_problem(self, attempt: Callable, until: float) -> Verdict | None:
        """What can still be wrong where all answers are right."""
        return None

    def stages(self, attempt: Callable, until: float, printed: list[str]) -> Iterator[Verdict | None]:
        """Every case gets an answer, the answers are right, so is their wrapping, and so is all else."""
        trials: list[Trial] = []
        remarks: list[Verdict] = []
        for number, case in enumerate(self.cases(), start=1):
            result = self._called(attempt, case, until)
            if result.printed and number <= MOST_CALLS_PRINTED:
                printed.append(f"call {number}:\n{result.printed}")
            yield mishap(result, self.seconds, self.call_text(case))
            if isinstance(answer := result.answer, Verdict):
                yield answer  # why it cannot be read
            trials.append(Trial(case, answer.given))
            remarks += [remark for remark in answer.remarks if remark not in remarks]
        yield self._wrong_answer(attempt, trials, remarks)
        if remarks:
            told = paragraphs(*(remark.headline for remark in remarks))
            yield wrong("The numbers are right; one thing is left to put right.", told, remarks[0].slip)
        yield self.last_problem(attempt, until)
        yield Verdict("", "passed", self.praise(len(trials) - 1), left_over(attempt))

    def _called(self, attempt: Callable, case: Case, until: float) -> CallResult:
        inputs = case.make()
        return call(partial(attempt, *inputs), until, partial(self._read, case=case, inputs=inputs))

    def _read(self, value: Any, case: Case, inputs: tuple) -> Answer | Verdict:
        """The answer, with a remark where the inputs are not any more what they were."""
        answer = self.read(value, case)
        both = zip(self.inputs, inputs, case.make(), strict=True)
        changed = [name for name, one, other in both if not same(one, other)]
        if not changed or isinstance(answer, Verdict):
            return answer
        remark = wrong(IN_PLACE.format(listed(changed)), slip="in-place")
        return replace(answer, remarks=(*answer.remarks, remark))

    def _wrong_answer(self, attempt: Callable, trials: list[Trial], remarks: list[Verdict]) -> Verdict | None:
        """The first thing that is wrong with the answers, its likely reason, and what else was noticed."""
        problem = self.problem(trials)
        if problem is None:
            return None
        found, leftover = self._explained(problem, trials, attempt), left_over(attempt)
        slip = found.slip or ("left-over" if leftover else remarks[0].slip if remarks else None)
        besides = [f"Besides: {remark.headline}" for remark in remarks]
        return replace(found, slip=slip, details=paragraphs(found.details, leftover, *besides))

    def praise(self, others: int) -> str:
        return f"Right on the case worked by hand, and the same as the reference on {others} others."

    def _explained(self, problem: Verdict, trials: list[Trial], attempt: Callable) -> Verdict:
        """The problem with its likely reason, where one is known."""
        if self.unrepaired and self._everywhere(self.unrepaired, trials):
            status = "not tried" if same_code(attempt, self.unrepaired) else "wrong"
            return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
        slip = next((slip for slip in self.slips if self._everywhere(slip.wrong, trials)), None)
        if slip is None or problem.slip == "swapped-outputs":
            return problem
        details = paragraphs(f"Likely slip: {slip.message}", problem.details)
        return replace(problem, slip=slip.name, misconception=slip.misconception, details=details)

    def _everywhere(self, function: Callable, trials: list[Trial]) -> bool:
        try:
            return all(self.does_as(function, trial) for trial in trials)
        except Exception:  # a wrong function need not work for every input
            return False


def left_over(attempt: Callable) -> str:
    """A sentence about numbers that come from the notebook; empty where there are none."""
    if not (names := notebook_numbers(attempt)):
        return ""
    what, them = ("a variable", "it") if len(names) == 1 else ("variables", "them")
    return (
        f"It uses {listed(names)}, {what} of the notebook and no parameter of the function: what fits one "
        f"call need not fit the next. Work {them} out from the inputs."
    )
