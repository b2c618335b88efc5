"""An exercise whose function takes and gives ordinary Python things: words, lists, counts, other functions.

    COUNT_PAIRS = PlainExercise(
        name="count_pairs", lesson="guessing_the_next_word", inputs=("words",),
        by_hand=ByHand({"words": ["a", "b", "a"]}, {("a", "b"): 1, ("b", "a"): 1}, "Two pairs, each once."),
        others=(lambda: ([],), lambda: (["a"] * 5,)),
        reference=count_pairs,
        slips=(Slip("ends-early", ends_early, "the last pair is missing."),),
    )

Inputs are made anew for every call. An answer is compared with the reference's part by part, numbers but for
rounding; where many answers are right (`design`: "any network that spans 40 words"), every demand must hold
instead. A demand gets the inputs and the answer, and gives a sentence where it is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.teaching.exercises.answer import Answer, are_numbers, copied, kind, plain, same, shown
from course_lib.teaching.exercises.any_exercise import ByHand, Case, FunctionExercise, Trial
from course_lib.teaching.exercises.verdict import Verdict, wrong

Inputs = tuple[Any, ...]
Demand = Callable[[Inputs, Any], str]  # the sentence to say where it is not met, else ""
NONE = "It returned `None`: did you forget `return`?"


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainExercise(FunctionExercise):
    """See the top of this file."""

    inputs: Sequence[str]
    by_hand: ByHand
    others: tuple[Callable[[], Inputs], ...]
    demands: tuple[Demand, ...] = ()
    design: bool = False

    def cases(self) -> list[Case]:
        """The one worked by hand, whose answer is the author's own, then the others."""
        by_hand = Case(
            lambda: tuple(copied(self.by_hand.inputs[name]) for name in self.inputs),
            self.by_hand.answer,
            by_hand=True,
        )
        return [by_hand, *(Case(make, self.reference(*make())) for make in self.others)]

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        if value is None:
            return wrong(NONE, "The last line should begin with `return`.", "returns-none")
        return Answer(copied(value))

    def call_text(self, case: Case) -> str:
        named = zip(self.inputs, case.make(), strict=True)
        return "\n".join(f"{name} = {shown(value)}" for name, value in named)

    def praise(self, others: int) -> str:
        return "All that was asked for holds." if self.design else super().praise(others)

    def does_as(self, function: Callable, trial: Trial) -> bool:
        return same(function(*trial.case.make()), trial.given)

    def problem(self, trials: list[Trial]) -> Verdict | None:
        unmet = (self._unmet(trial, demand) for trial in trials for demand in self.demands)
        unequal = (self._unequal(trial) for trial in ([] if self.design else trials))
        return next(filter(None, (*unmet, *unequal)), None)

    def _unmet(self, trial: Trial, demand: Demand) -> Verdict | None:
        try:
            complaint = demand(trial.case.make(), trial.given)
        except Exception as error:  # an answer of another kind than was asked for
            complaint = f"This cannot be used as an answer ({type(error).__name__}: {error})."
        if not complaint:
            return None
        return replace(wrong(complaint), given=self.call_text(trial.case), got=shown(trial.given))

    def _unequal(self, trial: Trial) -> Verdict | None:
        case, expected, got = trial.case, trial.case.expected, trial.given
        if same(expected, got):
            return None
        headline = (
            "This is not what comes out by hand." if case.by_hand else "This is not as in the reference."
        )
        if type(plain(got)) is not type(plain(expected)) and not are_numbers(expected, got):
            headline = f"It returned {kind(got)}; {kind(expected)} is wanted."
        problem = wrong(headline, self.by_hand.says if case.by_hand else "")
        return replace(problem, given=self.call_text(case), expected=shown(expected), got=shown(got))
