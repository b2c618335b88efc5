"""A test that the learner writes, as a function that takes an implementation and raises if it is wrong.

    TEST_ATTENTION = TestExercise(
        name="test_attention", lesson="query_key_value", of=SCALED_ATTENTION, what="attention",
        accepts={"with einsum": by_einsum}, rejects={"over-d": "divides by d_k itself"},
        reference=test_attention,
    )

It must accept the reference and the right implementations in `accepts`, and raise for the slips named in
`rejects`, each with what that implementation does ("divides by d_k itself"), and for the implementations in
`wrong`, by what each does. There should be one for each promise of the prompt, and some that are wrong in one
place only (`wrong_only_at`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.function_exercise import FunctionExercise
from course_lib.teaching.exercises.guarded_call import CallResult, call
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, wrong_verdict

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


@dataclass(frozen=True, kw_only=True, eq=False)
class TestExercise(Exercise):
    """A test to write; see the top of this file. `what` names the function under test, `reference` is the
    author's own test."""

    __test__ = False  # pytest must not collect this class

    of: FunctionExercise
    what: str
    accepts: Mapping[str, Callable]
    rejects: Mapping[str, str]
    wrong: Mapping[str, Callable] = field(default_factory=dict)
    inputs: Sequence[str] = ("implementation",)

    def wrong_implementations(self) -> dict[str, Callable]:
        """What each does wrong, with its function."""
        slips = {slip.name: slip.wrong for slip in self.of.slips}
        return {description: slips[name] for name, description in self.rejects.items()} | dict(self.wrong)


def wrong_only_at(index: Any, right: Callable, wrong: Callable) -> Callable:
    """A function like `right`, except that its outputs are those of `wrong` at one index.

    >>> wrong_only_at((..., -1), lambda x: x + 0, lambda x: 0 * x)(torch.tensor([1.0, 2.0]))
    tensor([1., 0.])
    """

    def partly_wrong(*inputs: Any) -> Any:
        outputs, wrong_outputs = right(*inputs), wrong(*inputs)
        is_single = isinstance(outputs, Tensor)
        mixed = []
        for output, other in zip(*(([a] if is_single else a) for a in (outputs, wrong_outputs)), strict=True):
            mixed.append(output.clone())
            mixed[-1][index] = other[index]
        return mixed[0] if is_single else tuple(mixed)

    return partly_wrong


@dataclass
class TestExamination(Examination):
    """The test accepts the reference, then other right implementations, and rejects the wrong ones."""

    __test__ = False

    exercise: TestExercise
    n_calls: int = 0

    def works(self) -> bool:
        """Whether the author's own test still accepts the right function."""
        return self.run_on(self.exercise.of.reference).failure is None

    def run_on(self, implementation: Callable) -> CallResult:
        def counted(*inputs: object, **named: object) -> object:
            self.n_calls += 1
            names = list(self.exercise.of.inputs)[len(inputs) :]  # wrong ones have different parameter names
            return implementation(*inputs, *(named[name] for name in names if name in named))

        return call(lambda: self.attempt(counted), self.limit)

    def examine(self) -> Verdict:
        exercise = self.exercise
        what, result = exercise.what, self.run_on(exercise.of.reference)
        self.printed.append(result.printed)  # what it prints for the others repeats this
        problem = self.explain_failure(result, "This happened with a correct implementation.")
        if result.failure and result.failure.exception == "AssertionError":
            problem = self.explain_failure(result, REJECTS_RIGHT)
            problem = replace(
                problem,
                headline=f"Your test rejects a correct implementation of the {what}.",
                slip="rejects-the-right-one",
            )
        if problem:
            return problem
        if not self.n_calls:
            advice = "Call it with inputs of your own, and check what it returns."
            return wrong_verdict("Your test never calls the function it is given.", advice, "never-calls")
        for style, implementation in exercise.accepts.items():
            if problem := self.explain_failure(self.run_on(implementation), TOO_STRICT):
                headline = f"Your test rejects a correct implementation of the {what}, written {style}."
                return replace(problem, headline=headline, slip="too-strict")
        wrong = exercise.wrong_implementations()
        results = {description: self.run_on(implementation) for description, implementation in wrong.items()}
        for description, result in results.items():
            mistaken = result.failure and result.failure.exception in MISTAKES_IN_THE_TEST
            if result.timed_out or mistaken:
                with_wrong = f"This happened with a wrong implementation: one that {description}."
                return self.explain_failure(result, with_wrong)
        if missed := [description for description, result in results.items() if not result.failure]:
            caught = [description for description in results if description not in missed]
            returns_instead = any(results[description].answer is not None for description in missed)
            slip = "returns-instead" if returns_instead else "lets-through"
            advice = HOW_TO_REJECT if returns_instead else "" if caught else NEVER_RAISES
            headline = f"Your test catches {len(caught)} of {len(results)} wrong implementations."
            return wrong_verdict(
                headline,
                join_paragraphs(advice, _list_up("missed", missed), _list_up("caught", caught)),
                slip,
            )
        headline = (
            f"Your test accepts every correct implementation and catches all {len(results)} wrong ones."
        )
        return Verdict("", "passed", headline)


def _list_up(verb: str, descriptions: list[str]) -> str:
    """A line for each; empty if there is none."""
    return "\n".join([f"It {verb} one that", *(f"• {text}" for text in descriptions)]) if descriptions else ""
