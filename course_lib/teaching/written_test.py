"""An exercise in which the learner writes the test: a function that takes an implementation, and raises.

    TEST_ATTENTION = TestExercise(
        name="test_attention", lesson="query_key_value", of=SCALED_ATTENTION, what="attention",
        accepts={"with einsum": by_einsum}, rejects={"over-d": "divides by d_k itself"},
        reference=test_attention,
    )

It must let the reference through, and the other right ones of `accepts`, and raise for the slips named in
`rejects`. The verdict says in words which it let through: an attention that divides by d_k itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from course_lib.teaching.answer import joined
from course_lib.teaching.calling import Outcome, call
from course_lib.teaching.exercise import Exercise
from course_lib.teaching.plain_exercise import PlainExercise
from course_lib.teaching.trying import mishap
from course_lib.teaching.verdict import Verdict, wrong

MOST_NAMED = 3
ONE_PARAMETER: Mapping[str, str] = {"implementation": "a function"}
HOW_TO_REJECT = "A test says no by raising: `assert` does, and so does `torch.testing.assert_close`."
TOO_STRICT = "Does it ask for more than was said, or leave no room for rounding?"
UNRELATED = {"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError"}


@dataclass(frozen=True, kw_only=True, eq=False)
class TestExercise:
    """See the top of this file. `what` is tested, in one word; `reference` is the author's own test."""

    __test__ = False  # for pytest, this is no test

    name: str
    lesson: str
    of: Exercise | PlainExercise
    what: str
    accepts: Mapping[str, Callable]
    rejects: Mapping[str, str]
    reference: Callable
    library: Callable | None = None
    stretch: bool = False
    seconds: float = 5.0
    inputs: Mapping[str, str] = field(default_factory=lambda: ONE_PARAMETER)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.inputs)})"

    def wrong_ones(self) -> dict[str, Callable]:
        """Each wrong implementation, by what it does."""
        slips = {slip.name: slip.wrong for slip in self.of.slips}
        return {words: slips[name] for name, words in self.rejects.items()}


def judge_test(exercise: TestExercise, attempt: Callable) -> tuple[Verdict, str]:
    """The verdict on a learner's test, and what it printed when it met the right implementation."""
    until, what = time.monotonic() + exercise.seconds, exercise.what
    calls = []

    def meets(implementation: Callable) -> Outcome:
        def watched(*inputs: object, **named: object) -> object:
            calls.append(implementation)
            names = list(exercise.of.inputs)[len(inputs) :]  # the wrong ones call their parameters otherwise
            return implementation(*inputs, *(named[name] for name in names))

        return call(lambda: attempt(watched), (), until)

    first = meets(exercise.of.reference)
    if problem := mishap(first, exercise.seconds, "This was with the right one."):
        return _on_the_right_one(problem, first, what), first.printed
    if not calls:
        advice = "Call it with inputs of yours, and look at what comes out."
        return wrong(f"It never calls the {what} that it is given.", advice, "never-calls"), first.printed
    for style, function in exercise.accepts.items():
        if problem := mishap(meets(function), exercise.seconds, TOO_STRICT):
            headline = f"It rejects a right {what}, written {style}."
            return replace(problem, headline=headline, slip="too-strict"), first.printed
    met = {words: meets(function) for words, function in exercise.wrong_ones().items()}
    for words, outcome in met.items():
        if outcome.took_too_long or (outcome.fault and outcome.fault.kind in UNRELATED):
            return mishap(outcome, exercise.seconds, f"This was with one that {words}."), first.printed
    let_through = [words for words, outcome in met.items() if not outcome.fault]
    if not let_through:
        headline = f"It lets every right {what} through and catches all {len(met)} wrong ones."
        return Verdict(exercise.name, "passed", headline), first.printed
    returns = HOW_TO_REJECT if any(met[words].answer is not None for words in let_through) else ""
    slip = "returns-instead" if returns else "lets-through"
    return wrong(_told(let_through, len(met), what), returns, slip), first.printed


def _on_the_right_one(problem: Verdict, outcome: Outcome, what: str) -> Verdict:
    if outcome.fault and outcome.fault.kind == "AssertionError":
        return replace(problem, headline=f"It rejects the right {what}.", slip="rejects-the-right-one")
    return problem


def _told(let_through: list[str], n_wrong: int, what: str) -> str:
    if len(let_through) == n_wrong:
        return f"It lets every {what} through, also the {n_wrong} wrong ones: does it assert anything?"
    named = [f"one that {words}" for words in let_through[:MOST_NAMED]]
    more = [f"{len(let_through) - MOST_NAMED} more"] if len(let_through) > MOST_NAMED else []
    caught = f"It catches {n_wrong - len(let_through)} of {n_wrong} wrong ones."
    return f"{caught} It let through {joined([*named, *more])}."
