"""A function to write.

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
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from course_lib.teaching.exercises.answer import (
    RETURNS_NONE,
    Answer,
    assign_text,
    copy_value,
    describe_type,
    find_tensors,
    format_value,
    to_plain,
)
from course_lib.teaching.exercises.comparison import (
    are_numbers,
    describe_difference,
    describe_form,
    give_form,
    values_match,
)
from course_lib.teaching.exercises.derived_slips import count_tensors, derive_slips
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.exercise import Exercise, Slip
from course_lib.teaching.exercises.gradients import compare_gradients
from course_lib.teaching.exercises.variations import NAMES, Variation, vary
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, wrong_verdict

Inputs = tuple[Any, ...]
Demand = Callable[[Inputs, Any], str]  # a sentence if it isn't met, else ""


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
    variation: Variation | None = None

    @property
    def ordinary(self) -> bool:
        return not self.by_hand and self.variation is None

    @property
    def scaled(self) -> bool:
        """Whether rounding errors are compared with the size of the numbers."""
        return self.variation is not None and self.variation.scaled


class Trial(NamedTuple):
    """A case and what the learner's function returned for it."""

    case: Case
    answer: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionExercise(Exercise):
    """A function to write. `unrepaired` is the function that the learner is asked to debug.

    `variations` are the names of those that make sense for its inputs. With `trains`, its gradients must be
    those of the reference, if that has any. With `may_vary`, a right answer may involve chance.
    """

    slips: tuple[Slip, ...] = ()
    unrepaired: Callable | None = None
    variations: tuple[str, ...] = NAMES
    trains: bool = True
    may_vary: bool = False
    design: bool = False

    CHANCE: ClassVar = (
        "Your function returned two different answers to the same inputs.",
        "Does it use random numbers, or remember something from an earlier call (in a global variable, or in "
        "a default value such as `[]`)? The answer should depend on the inputs alone.",
        "random",
    )

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every call of a check; the first is the worked example, if there is one."""
        return tuple(self._make_cases())

    @abstractmethod
    def _make_cases(self) -> list[Case]: ...

    @property
    def names(self) -> list[str]:
        """The names of the inputs of a case."""
        return list(self.inputs)

    def as_function(self, attempt: Callable, case: Case) -> Callable:
        """What is called with the inputs of a case."""
        return attempt

    def find_early_problem(self, examination: Examination) -> Verdict | None:
        """What is wrong before it is called."""
        return None

    @abstractmethod
    def read(self, value: Any, case: Case) -> Answer | Verdict:
        """The returned value as an answer, or why it can't be read."""

    @abstractmethod
    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        """The first thing that is wrong with the answers."""

    def find_further_problem(self, examination: Examination) -> Verdict | None:
        """What is still wrong if all answers are right: its gradients."""
        for case in self.cases if self.trains else ():
            if case.ordinary and any(find_tensors(case.make(), "")):
                both = (
                    self.as_function(function, case) for function in (examination.attempt, self.reference)
                )
                if problem := compare_gradients(*both, case.make, self.names, examination.limit):
                    return problem
        return None

    @abstractmethod
    def describe_call(self, case: Case) -> str:
        """The inputs of a call, as text."""

    @abstractmethod
    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        """Whether one of the course's own functions returns what the learner's did."""

    def derived_slips(self, trials: list[Trial]) -> Iterable[Slip]:
        """The slips that any function may have, for these inputs."""
        example = max((trial.case.make() for trial in trials), key=count_tensors)
        return () if self.design else derive_slips(self.names, self.reference, example)

    def praise(self, n_others: int) -> str:
        return f"Correct on the worked example, and it matches the reference on {n_others} other inputs."


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainExercise(FunctionExercise):
    """A function of plain Python values; see the top of this file."""

    by_hand: ByHand
    others: tuple[Callable[[], Inputs], ...]
    demands: tuple[Demand, ...] = ()
    returns: tuple[str, ...] = ()  # names of the outputs, if there are several

    def _make_cases(self) -> list[Case]:
        def copy_inputs() -> Inputs:
            return tuple(copy_value(self.by_hand.inputs[name]) for name in self.inputs)

        answer = self.by_hand.answer
        if not self.design:
            answer = give_form(self.reference(*copy_inputs()), answer)
        by_hand = Case(copy_inputs, answer, by_hand=True)
        others = [Case(make, self.reference(*make())) for make in self.others]
        varied = vary(self.others[0](), self.variations) if self.others and not self.design else ()
        return [by_hand, *others, *filter(None, (self._vary_case(*pair) for pair in varied))]

    def _vary_case(self, variation: Variation, inputs: Inputs) -> Case | None:
        """None if the reference has no finite answer for these inputs."""

        def make() -> Inputs:
            return copy_value(inputs)

        try:
            expected = self.reference(*make())
        except (ValueError, RuntimeError, ArithmeticError, IndexError, KeyError):
            return None
        tensors = [tensor for _, tensor in find_tensors(expected, "")]
        return Case(make, expected, variation=variation) if all(t.isfinite().all() for t in tensors) else None

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        if value is None and case.expected is not None:
            return wrong_verdict(RETURNS_NONE, "", "returns-none")
        if isinstance(value, Iterator):
            headline = f"Your function returned an iterator ({type(value).__name__}), not a list."
            return wrong_verdict(headline, "Convert it with `list(...)`.", "wrong-type")
        if self.design or not values_match(case.expected, value, scaled=case.scaled):
            return Answer(copy_value(value))
        form = describe_form(case.expected, value)
        return Answer(copy_value(value), (wrong_verdict(form, slip="wrong-form"),) if form else ())

    def describe_call(self, case: Case) -> str:
        inputs = zip(self.inputs, case.make(), strict=True)
        return "\n".join(assign_text(name, format_value(value)) for name, value in inputs)

    def praise(self, n_others: int) -> str:
        return "Your answer meets every requirement." if self.design else super().praise(n_others)

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        return values_match(function(*trial.case.make()), trial.answer, scaled=trial.case.scaled)

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        """The worked example first; then the demands, then the comparisons with the reference."""

        def find_first(trials: list[Trial]) -> Verdict | None:
            unmet = (self._check_demand(trial, demand) for trial in trials for demand in self.demands)
            unequal = (self._compare(trial) for trial in ([] if self.design else trials))
            return next(filter(None, chain(unmet, unequal)), None)

        by_hand, others = ([t for t in trials if t.case.by_hand is is_it] for is_it in (True, False))
        return find_first(by_hand) or find_first(others)

    def _check_demand(self, trial: Trial, demand: Demand) -> Verdict | None:
        try:
            complaint = demand(trial.case.make(), trial.answer)
        except Exception:  # an answer of the wrong kind
            kind, wanted = describe_type(trial.answer), describe_type(self.by_hand.answer)
            complaint = f"Your function returned {kind}, which can't be checked. An example is {wanted}."
        if not complaint:
            return None
        return wrong_verdict(complaint, given=self.describe_call(trial.case), got=format_value(trial.answer))

    def _compare(self, trial: Trial) -> Verdict | None:
        case, expected, got = trial.case, trial.case.expected, trial.answer
        if values_match(expected, got, scaled=case.scaled):
            return None
        headline = (
            f"Your answer differs from the {'worked example' if case.by_hand else 'reference solution'}."
        )
        difference = describe_difference(expected, got)
        for i, name in enumerate(self.returns):
            difference = difference.replace(f"`answer[{i}]", f"`{name}")
        if not _are_alike(expected, got):
            headline = f"Expected {describe_type(expected)}, but your function returned {describe_type(got)}."
            difference = ""
        if case.variation:
            headline = f"Correct for ordinary inputs, but not for {case.variation.says}."
        return wrong_verdict(
            headline,
            join_paragraphs(difference, self.by_hand.explanation if case.by_hand else ""),
            f"{case.variation.name}-numbers" if case.variation else None,
            given=self.describe_call(case),
            expected=format_value(expected),
            got=format_value(got),
        )


def _are_alike(expected: Any, got: Any) -> bool:
    """Whether two values are of the same kind: two numbers, two tensors, two lists, two dictionaries."""
    if isinstance(expected, Tensor) and isinstance(got, tuple):
        return False
    kinds = [Mapping if isinstance(value, Mapping) else type(to_plain(value)) for value in (expected, got)]
    return kinds[0] is kinds[1] or are_numbers(expected, got)
