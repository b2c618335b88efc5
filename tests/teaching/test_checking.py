"""`check`: what it records, when it raises, and how an exercise with batches is checked."""

from __future__ import annotations

import json

import pytest
import torch

from course_lib.teaching.checking import check, judge
from course_lib.teaching.exercise import ByHand, Exercise, Invariant, Slip, gaussian


def stub(numbers):
    raise NotImplementedError("Your turn")


def events(course_home) -> list[dict]:
    file = course_home / "progress.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_stub_is_not_tried_yet_and_leaves_no_trace(course_home):
    verdict = check("double_it", stub)
    assert verdict.status == "not tried"
    line = stub.__code__.co_firstlineno + 1
    assert verdict.details == f'Still there: line {line}: `raise NotImplementedError("Your turn")`'
    assert not events(course_home)


def test_results_are_recorded(course_home):
    check("double_it", lambda numbers: 2 * numbers)
    check("scaled_attention", lambda q, k, v: ((q @ k.T).softmax(-1) @ v, (q @ k.T).softmax(-1)))
    first, second = events(course_home)
    assert first.pop("at") and second.pop("at")
    assert first == {"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"}
    assert second["status"] == "wrong" and second["misconception"] == "M06"


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


BATCHED = Exercise(
    name="row_means",
    lesson="start_here",
    inputs={"x": gaussian("*batch n d")},
    returns={"means": "*batch n"},
    sizes=({"batch": (), "n": 3, "d": 5}, {"batch": (2,), "n": 3, "d": 5}, {"batch": (4, 2), "n": 1, "d": 6}),
    reference=lambda x: x.mean(-1),
    by_hand=ByHand(inputs={"x": [[1.0, 3.0]]}, answer={"means": [2.0]}, says="(1 + 3) / 2 = 2."),
    invariants=(Invariant("the means of a row of ones are ones", lambda it: it.means * 0, equals=0),),
    slips=(Slip("over-rows", lambda x: x.mean(-2), "the mean runs over the rows."),),
)


def test_batched_and_unbatched_inputs_are_both_tried():
    assert [tuple(case.inputs[0].shape) for case in BATCHED.random_cases()] == [
        (3, 5),
        (2, 3, 5),
        (4, 2, 1, 6),
    ]
    assert judge(BATCHED, lambda x: x.sum(-1) / x.shape[-1]).status == "passed"
    only_unbatched = judge(BATCHED, lambda x: x.mean(1))
    assert only_unbatched.status == "wrong"
    assert only_unbatched.expected == "(2, 3) = (*batch, n)" and only_unbatched.got == "(2, 5)"
    assert judge(BATCHED, lambda x: x.mean(-2)).slip == "over-rows"


def test_random_cases_are_the_same_every_time_and_independent_of_the_session():
    first = BATCHED.random_cases()[1].inputs[0]
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        again = BATCHED.random_cases()[1].inputs[0]
    finally:
        torch.set_default_dtype(torch.float32)
    assert first.dtype == again.dtype == torch.float32
    assert torch.equal(first, again)
