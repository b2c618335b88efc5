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

import math
import pprint
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from course_lib.formatting import rounded
from course_lib.teaching.calling import call
from course_lib.teaching.exercise import ByHand, Slip
from course_lib.teaching.learners_code import same_code
from course_lib.teaching.reasons import FIRST_VERSION, left_over
from course_lib.teaching.trying import mishap
from course_lib.teaching.verdict import Verdict, wrong

Inputs = tuple[Any, ...]
Demand = Callable[[Inputs, Any], str]  # the sentence to say where it is not met, else ""
IN_PLACE = "Whoever called it may still need that. Make a copy first: `list(...)`, `dict(...)`, `x.clone()`."
MOST_SHOWN = 600  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainExercise:
    """See the top of this file. `seconds` is the time all calls of one check may take together."""

    name: str
    lesson: str
    inputs: Sequence[str]
    reference: Callable
    by_hand: ByHand
    others: tuple[Callable[[], Inputs], ...]
    demands: tuple[Demand, ...] = ()
    design: bool = False
    slips: tuple[Slip, ...] = ()
    unrepaired: Callable | None = None
    library: Callable | None = None
    stretch: bool = False
    seconds: float = 5.0

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.inputs)})"

    def cases(self) -> list[Callable[[], Inputs]]:
        """Each makes the inputs of one call; the first is the one worked by hand."""
        return [lambda: tuple(copied(self.by_hand.inputs[name]) for name in self.inputs), *self.others]

    def expected(self) -> list[Any]:
        """What comes out of each call; by hand, the author's own answer."""
        return [self.by_hand.answer, *(self.reference(*make()) for make in self.others)]


def judge_plain(exercise: PlainExercise, attempt: Callable) -> tuple[Verdict, str]:
    """The verdict on a learner's function, and what it printed in its first calls."""
    until, given, printed = time.monotonic() + exercise.seconds, [], []
    for number, make in enumerate(exercise.cases(), start=1):
        inputs, untouched = make(), make()
        outcome = call(lambda inputs=inputs: attempt(*inputs), (), until, lambda value, _: copied(value))
        printed += [f"call {number}:\n{outcome.printed}"] if outcome.printed and number <= 3 else []
        if problem := mishap(outcome, exercise.seconds, _call_text(exercise, untouched)):
            return problem, "\n".join(printed)
        if outcome.answer is None:
            advice = "The last line should begin with `return`."
            return wrong("It returned `None`: did you forget `return`?", advice, "returns-none"), ""
        if not same(inputs, untouched):
            return wrong("It changed what it was given.", IN_PLACE, "in-place"), "\n".join(printed)
        given.append(outcome.answer)
    return _judged(exercise, attempt, given), "\n".join(printed)


def _judged(exercise: PlainExercise, attempt: Callable, answers: list[Any]) -> Verdict:
    problem = _unmet(exercise, answers) or (None if exercise.design else _unequal(exercise, answers))
    leftover = left_over(attempt)
    if problem is None:
        headline = (
            f"Right on the case worked by hand, and the same as the reference on {len(answers) - 1} others."
        )
        headline = "All that was asked for holds." if exercise.design else headline
        return Verdict("", "passed", headline, leftover)
    if exercise.unrepaired and _does_as(exercise.unrepaired, exercise, answers):
        status = "not tried" if same_code(attempt, exercise.unrepaired) else "wrong"
        return replace(problem, status=status, headline=FIRST_VERSION, slip="unrepaired")
    slip = next((slip for slip in exercise.slips if _does_as(slip.wrong, exercise, answers)), None)
    details = [f"Likely slip: {slip.message}" if slip else "", problem.details, leftover]
    return replace(
        problem,
        slip=slip.name if slip else "left-over" if leftover else problem.slip,
        misconception=slip.misconception if slip else None,
        details="\n\n".join(filter(None, details)),
    )


def _unmet(exercise: PlainExercise, answers: list[Any]) -> Verdict | None:
    for make, answer in zip(exercise.cases(), answers, strict=True):
        for demand in exercise.demands:
            try:
                complaint = demand(make(), answer)
            except Exception as error:  # an answer of another kind than was asked for
                complaint = f"This cannot be used as an answer ({type(error).__name__}: {error})."
            if complaint:
                return replace(wrong(complaint), given=_call_text(exercise, make()), got=shown(answer))
    return None


def _unequal(exercise: PlainExercise, answers: list[Any]) -> Verdict | None:
    cases = zip(exercise.cases(), exercise.expected(), answers, strict=True)
    for number, (make, expected, got) in enumerate(cases):
        if same(expected, got):
            continue
        headline = "This is not as in the reference." if number else "This is not what comes out by hand."
        if type(plain(got)) is not type(plain(expected)) and not _are_numbers(expected, got):
            headline = f"It returned a {type(got).__name__}; a {type(expected).__name__} is wanted."
        details = "" if number else exercise.by_hand.says
        problem = wrong(headline, details, None)
        return replace(problem, given=_call_text(exercise, make()), expected=shown(expected), got=shown(got))
    return None


def _does_as(function: Callable, exercise: PlainExercise, answers: list[Any]) -> bool:
    """Whether `function` gives the learner's own answers in every case."""
    try:
        return all(
            same(function(*make()), answer) for make, answer in zip(exercise.cases(), answers, strict=True)
        )
    except Exception:  # a wrong function need not work for every input
        return False


# ---- comparing and showing


def plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers, tuples as lists."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def same(one: Any, other: Any) -> bool:
    """Whether two values are alike, part by part; numbers but for rounding.

    >>> same({"a": [1, 2.0]}, {"a": (1, np.float32(2))}), same([1, 2], [1, 3])
    (True, False)
    """
    one, other = plain(one), plain(other)
    if callable(one) and callable(other):
        return True  # a function cannot be looked into
    if _are_numbers(one, other):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6) or (one != one and other != other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def _are_numbers(one: Any, other: Any) -> bool:
    return all(isinstance(plain(x), int | float) and not isinstance(plain(x), bool) for x in (one, other))


def copied(value: Any) -> Any:
    """A copy that shares nothing which can be changed; functions and strange things as they are."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def shown(value: Any) -> str:
    """As text of a few lines."""
    if isinstance(value, Tensor):
        return rounded(value)
    text = pprint.pformat(_short(value), width=60, compact=True)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Tensor):
        return _short(value.tolist())
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(_short, value))
    return {key: _short(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _call_text(exercise: PlainExercise, inputs: Inputs) -> str:
    named = zip(exercise.inputs, inputs, strict=True)
    return "\n".join(f"{name} = {'a function' if callable(value) else shown(value)}" for name, value in named)
