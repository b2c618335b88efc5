"""What an exercise is: what is asked, the right answer, and the slips people make.

A function of words, lists, counts or other functions:

    COUNT_PAIRS = PlainExercise(
        name="count_pairs", lesson="guessing_the_next_word", inputs=("words",),
        by_hand=ByHand({"words": ["a", "b", "a"]}, {("a", "b"): 1, ("b", "a"): 1}, "Two pairs, each once."),
        others=(lambda: ([],), lambda: (["a"] * 5,)),
        reference=count_pairs,
        slips=(Slip("ends-early", ends_early, "the last pair is missing."),),
    )

The inputs are created again for every call. An answer is compared with the reference's, up to rounding. If
many answers are right (`design`: "any network that spans 40 words"), it must meet every demand instead: a
demand gets the inputs and the answer, and returns a sentence if it isn't met.

A test that the learner writes, as a function that takes an implementation and raises if it is wrong:

    TEST_ATTENTION = TestExercise(
        name="test_attention", lesson="query_key_value", of=SCALED_ATTENTION, what="attention",
        accepts={"with einsum": by_einsum}, rejects={"over-d": "divides by d_k itself"},
        reference=test_attention,
    )

It must accept the reference and the right implementations in `accepts`, and raise for the slips named in
`rejects`, each with what that implementation does ("It misses one that divides by d_k itself").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from course_lib.teaching.exercises.answer import (
    RETURNS_NONE,
    Answer,
    are_numbers,
    assign_text,
    copy_value,
    describe_type,
    format_value,
    to_plain,
    values_match,
)
from course_lib.teaching.exercises.verdict import Verdict, wrong_verdict

Inputs = tuple[Any, ...]
Demand = Callable[[Inputs, Any], str]  # a sentence if it isn't met, else ""


@dataclass(frozen=True)
class Slip:
    """A known wrong answer: `wrong` is the function, `message` says what seems to have happened and what to
    do. `misconception` is set only if the slip proves the belief: forgetting the scale proves none."""

    name: str
    wrong: Callable
    message: str
    misconception: str | None = None


@dataclass(frozen=True)
class ByHand:
    """A worked example, small enough to compute by hand; `says` is the working in words."""

    inputs: Mapping[str, Any]
    answer: Any
    says: str

    @property
    def explanation(self) -> str:
        return f"The worked example: {self.says}"


@dataclass(frozen=True, eq=False)
class Case:
    """One call: `make` creates its inputs, new each time; `expected` is the right answer."""

    make: Callable[[], Inputs]
    expected: Any = None
    by_hand: bool = False
    large: bool = False


class Trial(NamedTuple):
    """A case and what the learner's function returned for it."""

    case: Case
    answer: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise(ABC):
    """`inputs` are the names of the parameters, or a mapping by name. `library` is what later lessons use for
    a learner who has not passed; without it, the reference. `seconds` is the time limit of a whole check."""

    name: str
    lesson: str
    inputs: Sequence[str] | Mapping[str, Any]
    reference: Callable
    library: Callable | None = None
    seconds: float = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionExercise(Exercise):
    """A function to write. `unrepaired` is the function that the learner is asked to debug."""

    slips: tuple[Slip, ...] = ()
    unrepaired: Callable | None = None

    @abstractmethod
    def cases(self) -> list[Case]:
        """Every call of a check, always the same; the first is the worked example."""

    @abstractmethod
    def read(self, value: Any, case: Case) -> Answer | Verdict:
        """The returned value as an answer, or why it can't be read."""

    @abstractmethod
    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        """The first thing that is wrong with the answers."""

    def find_further_problem(self, attempt: Callable, deadline: float) -> Verdict | None:
        """What is still wrong if all answers are right; may call the attempt again."""
        return None

    @abstractmethod
    def describe_call(self, case: Case) -> str:
        """The inputs of a call, in words."""

    @abstractmethod
    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        """Whether one of the course's own functions returns what the learner's did."""

    def praise(self, n_others: int) -> str:
        return f"Correct on the worked example, and it matches the reference on {n_others} other inputs."


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainExercise(FunctionExercise):
    """A function of plain Python values; see the top of this file."""

    by_hand: ByHand
    others: tuple[Callable[[], Inputs], ...]
    demands: tuple[Demand, ...] = ()
    design: bool = False

    def cases(self) -> list[Case]:
        def copy_inputs() -> Inputs:
            return tuple(copy_value(self.by_hand.inputs[name]) for name in self.inputs)

        by_hand = Case(copy_inputs, self.by_hand.answer, by_hand=True)
        return [by_hand, *(Case(make, self.reference(*make())) for make in self.others)]

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        if value is None:
            return wrong_verdict(RETURNS_NONE, "The last line should start with `return`.", "returns-none")
        return Answer(copy_value(value))

    def describe_call(self, case: Case) -> str:
        inputs = zip(self.inputs, case.make(), strict=True)
        return "\n".join(assign_text(name, format_value(value)) for name, value in inputs)

    def praise(self, n_others: int) -> str:
        return "Your answer meets every requirement." if self.design else super().praise(n_others)

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        return values_match(function(*trial.case.make()), trial.answer)

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        unmet = (self._check_demand(trial, demand) for trial in trials for demand in self.demands)
        unequal = (self._compare(trial) for trial in ([] if self.design else trials))
        return next(filter(None, chain(unmet, unequal)), None)

    def _check_demand(self, trial: Trial, demand: Demand) -> Verdict | None:
        try:
            complaint = demand(trial.case.make(), trial.answer)
        except Exception as error:  # an answer of the wrong kind
            complaint = f"This value can't be checked as an answer ({type(error).__name__}: {error})."
        if not complaint:
            return None
        return wrong_verdict(complaint, given=self.describe_call(trial.case), got=format_value(trial.answer))

    def _compare(self, trial: Trial) -> Verdict | None:
        case, expected, got = trial.case, trial.case.expected, trial.answer
        if values_match(expected, got):
            return None
        headline = (
            f"Your answer differs from the {'worked example' if case.by_hand else 'reference solution'}."
        )
        if type(to_plain(got)) is not type(to_plain(expected)) and not are_numbers(expected, got):
            headline = f"Expected {describe_type(expected)}, but your function returned {describe_type(got)}."
        return wrong_verdict(
            headline,
            self.by_hand.explanation if case.by_hand else "",
            given=self.describe_call(case),
            expected=format_value(expected),
            got=format_value(got),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TestExercise(Exercise):
    """A test to write; see the top of this file. `what` names the function under test, `reference` is the
    author's own test."""

    __test__ = False  # pytest must not collect this class

    of: FunctionExercise
    what: str
    accepts: Mapping[str, Callable]
    rejects: Mapping[str, str]
    inputs: Sequence[str] = ("implementation",)
