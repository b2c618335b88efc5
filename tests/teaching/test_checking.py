"""`check`: what it records, when it raises, which cases it tries, and exercises of another kind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from course_lib.teaching.checking import check, judge
from course_lib.teaching.exercise import ByHand, Exercise, Invariant, Slip, gaussian, look_mask
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.written_test import TestExercise


def stub(numbers):
    raise NotImplementedError("Your turn")


def events(course_home) -> list[dict]:
    file = course_home / "progress.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line]


def test_a_stub_is_not_tried_yet_and_leaves_no_trace(course_home):
    verdict = check("double_it", stub)
    assert verdict.status == "not tried"
    line = stub.__code__.co_firstlineno + 1
    assert verdict.details == f'Still there: line {line}: `raise NotImplementedError("Your turn")`'
    assert not course_home.exists()


def test_results_are_recorded(course_home):
    check("double_it", lambda numbers: 2 * numbers)
    check("scaled_attention", lambda q, k, v: ((w := (q @ k.mT / k.shape[-1]).softmax(-1)) @ v, w))
    first, second = events(course_home)
    assert first.pop("at") and second.pop("at")
    assert first == {"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"}
    assert second["status"] == "wrong" and second["misconception"] == "M07"


def test_strict_raises_with_the_whole_text_unless_passed(monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")
    assert check("double_it", lambda numbers: 2 * numbers).status == "passed"
    with pytest.raises(AssertionError, match="Likely slip: the numbers are squared"):
        check("double_it", lambda numbers: numbers**2)
    with pytest.raises(AssertionError, match="Not tried yet"):
        check("double_it", stub)


def test_an_unknown_name_is_an_error_that_helps():
    with pytest.raises(ValueError, match=r"No exercise is called 'doubel_it'. Did you mean 'double_it'\?"):
        check("doubel_it", stub)
    with pytest.raises(ValueError, match="There are: double_it, "):
        check("xyz", stub)


def test_the_same_attempt_gives_the_same_verdict():
    def attempt(query, keys, values):
        weights = torch.rand(len(keys))
        return weights @ values, weights

    torch.manual_seed(0)
    first = check("soft_lookup", attempt)
    torch.manual_seed(0)
    assert check("soft_lookup", attempt) == first


SEEN_MEANS = Exercise(
    name="seen_means",
    lesson="start_here",
    inputs={"x": gaussian("*batch n d"), "may_look": look_mask("*batch n d")},
    returns={"means": "*batch n", "all_seen": "*batch n"},
    sizes={"batch": (2, 3), "n": 4, "d": 5},
    reference=lambda x, may_look: ((x * may_look).sum(-1) / may_look.sum(-1), may_look.all(-1)),
    by_hand=ByHand(
        inputs={"x": [[1.0, 3.0, 9.0]], "may_look": [[True, True, False]]},
        answer={"means": [2.0], "all_seen": [False]},
        says="(1 + 3) / 2 = 2.",
    ),
    invariants=(Invariant("what is never seen is 0", lambda it: it.means * 0, equals=0, exactly=True),),
    slips=(Slip("sums", lambda x, m: ((x * m).sum(-1), m.all(-1)), "these are sums."),),
)


def test_cases_follow_from_the_sizes_and_are_the_same_in_every_session():
    shapes = [tuple(case.make()[0].shape) for case in SEEN_MEANS.cases()]
    assert shapes == [(1, 3), (2, 3, 4, 5), (5, 3), (2, 4, 4), (1, 1, 1), (2, 3, 4, 5), (2, 3, 4, 5)]
    first = SEEN_MEANS.cases()
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        again = SEEN_MEANS.cases()
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(first, again, strict=True):
        assert one.make()[0].dtype == torch.float32 and torch.equal(one.make()[0], other.make()[0])
    fixed = replace(SEEN_MEANS, other_sizes=({"batch": (7,), "n": 2, "d": 6},))
    assert [tuple(case.make()[0].shape) for case in fixed.cases()][2] == (7, 2, 6)


def mean_of(x, may_look):
    return x.masked_fill(~may_look, 0).sum(-1) / may_look.float().sum(-1)


@pytest.mark.parametrize(
    ("attempt", "slip", "words"),
    [
        (lambda x, may_look: (mean_of(x, may_look), may_look.all(-1)), None, "Right on the case"),
        (lambda x, may_look: (mean_of(x, may_look).mT, may_look.all(-1)), "raises", "(1, 3)"),
        (lambda x, may_look: (x.mean(1), may_look.all(1)), "wrong-shape", "(2, 3, 4) = (*batch, n)"),
        (lambda x, may_look: ((x * may_look).sum(-1), may_look.all(-1)), "sums", "these are sums"),
        (
            lambda x, may_look: (mean_of(x, may_look), may_look.all(-1).float()),
            "dtype",
            "torch.bool is wanted.",
        ),
    ],
)
def test_batches_and_masks_are_exercises_too(attempt, slip, words):
    verdict = judge(SEEN_MEANS, attempt)
    assert verdict.slip == slip and words in str(verdict), str(verdict)


# Find the bug: the learner starts with a function that is wrong.


def forgets_half(numbers):
    """As it is given to the learner."""
    half = len(numbers) // 2
    return torch.cat([2 * numbers[:half], numbers[half:]])


def still_forgets_half(numbers):
    half = len(numbers) // 2
    return torch.cat([numbers[:half] + numbers[:half], numbers[half:]])


def as_it_was(numbers):
    # another comment, other names
    middle = len(numbers) // 2
    return torch.cat([2 * numbers[:middle], numbers[middle:]])


def test_a_bug_that_is_still_there_is_said_and_not_named():
    exercise = replace(EXERCISES["double_it"], unrepaired=forgets_half)
    untouched, tried = judge(exercise, as_it_was), judge(exercise, still_forgets_half)
    assert untouched.status == "not tried" and tried.status == "wrong"
    for verdict in untouched, tried:
        assert verdict.headline.startswith("This does what the first version did") and "half" not in str(
            verdict
        )
    assert judge(exercise, lambda numbers: numbers).slip == "unchanged"
    assert judge(exercise, lambda numbers: numbers + numbers).status == "passed"


# Write the test: the learner's function takes an implementation, and raises.

ATTENTION = EXERCISES["scaled_attention"]
WORDS = {
    "no-scale": "does not divide at all",
    "over-d": "divides by d_k itself",
    "root-of-keys": "divides by √d_model",
    "softmax-over-queries": "shares out each key instead of each query",
    "blends-keys": "blends the keys",
}


def draw(m=3, n=5, d=16, v=7):
    return torch.randn(m, d), torch.randn(n, d), torch.randn(n, v)


def good_test(implementation):
    queries, keys, values = draw()
    context, weights = implementation(queries, values=values, keys=keys)
    expected = torch.softmax(queries @ keys.T / 4, -1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(context, expected @ values)


def rows_only(implementation):
    _, weights = implementation(*draw())
    assert torch.allclose(weights.sum(-1), torch.ones(3))


def rejects_all(implementation):
    implementation(*draw())
    assert 1 + 1 == 3, "never"


def no_rounding(implementation):
    queries, keys, values = draw()
    expected = ATTENTION.reference(queries, keys, values)[0]
    assert torch.equal(implementation(queries, keys, values)[0], expected)


def returns_it(implementation):
    _, weights = implementation(*draw())
    return torch.allclose(weights.sum(-1), torch.ones(3))


def never_calls(implementation):
    assert callable(implementation)


def misspelt(implementation):
    implementation(*draw())
    assert wieghts.shape == (3, 5)  # noqa: F821


def misspelt_on_the_way_out(implementation):
    _, weights = implementation(*draw())
    if not torch.allclose(weights.sum(-1), torch.ones(3)):
        raise AssertoinError  # noqa: F821


def loops_on_a_wrong_one(implementation):
    _, weights = implementation(*draw())
    while not torch.allclose(weights.sum(-1), torch.ones(3)):
        pass


def your_turn(implementation):
    raise NotImplementedError("Your turn")


def in_another_order(queries, keys, values):
    weights = torch.einsum("md,nd->mn", queries / keys.shape[1] ** 0.5, keys).softmax(-1)
    return torch.einsum("mn,nv->mv", weights, values) + 1e-7, weights


TEST_ATTENTION = TestExercise(
    name="test_attention",
    lesson="query_key_value",
    of=ATTENTION,
    what="attention",
    accepts={"with einsum": in_another_order},
    rejects=WORDS,
    reference=good_test,
)


@pytest.mark.parametrize(
    ("attempt", "slip", "words"),
    [
        (good_test, None, "lets every right attention through and catches all 5 wrong ones"),
        (rows_only, "lets-through", "It catches 1 of 5 wrong ones. It let through one that does not divide "
         "at all, one that divides by d_k itself, one that divides by √d_model and 1 more."),
        (lambda implementation: implementation(*draw()) and None, "lets-through", "does it assert anything?"),
        (rejects_all, "rejects-the-right-one", "It rejects the right attention."),
        (no_rounding, "too-strict", "a right attention, written with einsum"),
        (returns_it, "returns-instead", "A test says no by raising"),
        (never_calls, "never-calls", "never calls the attention that it is given"),
        (misspelt, "raises", "NameError: name 'wieghts'"),
        (misspelt_on_the_way_out, "raises", "This was with one that shares out each key"),
        (loops_on_a_wrong_one, "too-slow", "never ends"),
        (your_turn, None, "Not tried yet"),
        (lambda: 1, "parameters", "Wanted: `test_attention(implementation)`"),
        (3, "not-a-function", "without brackets"),
    ],
)  # fmt: skip
def test_a_written_test_is_tested(attempt, slip, words):
    torch.testing.assert_close(1, 1)  # what it imports the first time takes a while
    verdict = judge(replace(TEST_ATTENTION, seconds=1 if slip == "too-slow" else 20), attempt)
    assert verdict.slip == slip and words in str(verdict), str(verdict)
    assert verdict.status == (
        "passed" if attempt is good_test else "not tried" if attempt is your_turn else "wrong"
    )
    assert "softmax(" not in str(verdict), "no code of the solution"
