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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from course_lib.teaching.exercises.any_exercise import AnyExercise, FunctionExercise
from course_lib.teaching.exercises.guarded_call import CallResult, call
from course_lib.teaching.exercises.no_answer import mishap
from course_lib.teaching.exercises.verdict import Verdict, joined, wrong

MOST_NAMED = 3
HOW_TO_REJECT = "A test says no by raising: `assert` does, and so does `torch.testing.assert_close`."
TOO_STRICT = "Does it ask for more than was said, or leave no room for rounding?"
UNRELATED = {"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError"}


@dataclass(frozen=True, kw_only=True, eq=False)
class TestExercise(AnyExercise):
    """See the top of this file. `what` is tested, in one word; `reference` is the author's own test."""

    __test__ = False  # for pytest, this is no test

    of: FunctionExercise
    what: str
    accepts: Mapping[str, Callable]
    rejects: Mapping[str, str]
    inputs: Sequence[str] = ("implementation",)

    def wrong_ones(self) -> dict[str, Callable]:
        """Each wrong implementation, by what it does."""
        slips = {slip.name: slip.wrong for slip in self.of.slips}
        return {words: slips[name] for name, words in self.rejects.items()}

    def stages(self, attempt: Callable, until: float, printed: list[str]) -> Iterator[Verdict | None]:
        """It meets the right implementation, then others that are right, then the wrong ones."""
        calls: list[Callable] = []

        def meets(implementation: Callable) -> CallResult:
            def watched(*inputs: object, **named: object) -> object:
                calls.append(implementation)
                names = list(self.of.inputs)[len(inputs) :]  # the wrong ones call their parameters otherwise
                return implementation(*inputs, *(named[name] for name in names))

            return call(lambda: attempt(watched), until)

        what, first = self.what, meets(self.of.reference)
        printed.append(first.printed)  # what it prints of the others repeats this
        problem = mishap(first, self.seconds, "This was with the right one.")
        if first.fault and first.fault.kind == "AssertionError":
            problem = replace(problem, headline=f"It rejects the right {what}.", slip="rejects-the-right-one")
        yield problem
        if not calls:
            advice = "Call it with inputs of yours, and look at what comes out."
            yield wrong(f"It never calls the {what} that it is given.", advice, "never-calls")
        for style, function in self.accepts.items():
            if problem := mishap(meets(function), self.seconds, TOO_STRICT):
                headline = f"It rejects a right {what}, written {style}."
                yield replace(problem, headline=headline, slip="too-strict")
        met = {words: meets(function) for words, function in self.wrong_ones().items()}
        for words, result in met.items():
            if result.took_too_long or (result.fault and result.fault.kind in UNRELATED):
                yield mishap(result, self.seconds, f"This was with one that {words}.")
        if let_through := [words for words, result in met.items() if not result.fault]:
            returns = any(met[words].answer is not None for words in let_through)
            slip = "returns-instead" if returns else "lets-through"
            yield wrong(_told(let_through, len(met), what), HOW_TO_REJECT if returns else "", slip)
        headline = f"It lets every right {what} through and catches all {len(met)} wrong ones."
        yield Verdict("", "passed", headline)


def _told(let_through: list[str], n_wrong: int, what: str) -> str:
    if len(let_through) == n_wrong:
        return f"It lets every {what} through, also the {n_wrong} wrong ones: does it assert anything?"
    named = [f"one that {words}" for words in let_through[:MOST_NAMED]]
    more = [f"{len(let_through) - MOST_NAMED} more"] if len(let_through) > MOST_NAMED else []
    caught = f"It catches {n_wrong - len(let_through)} of {n_wrong} wrong ones."
    return f"{caught} It let through {joined([*named, *more])}."
