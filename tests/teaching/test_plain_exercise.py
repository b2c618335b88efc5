"""Exercises over words, lists, counts and functions; and designs, where many answers are right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from course_lib.teaching.checking import judge
from course_lib.teaching.exercise import ByHand, Slip
from course_lib.teaching.plain_exercise import PlainExercise
from course_lib.teaching.values import same
from course_lib.teaching.written_test import TestExercise


def count_pairs(words):
    return dict(Counter(pairwise(words)))


def ends_early(words):
    return count_pairs(words[:-1])


PAIRS = PlainExercise(
    name="count_pairs",
    lesson="start_here",
    inputs=("words",),
    by_hand=ByHand({"words": ["a", "b", "a"]}, {("a", "b"): 1, ("b", "a"): 1}, "Two pairs, each once."),
    others=(lambda: ([],), lambda: (["a"] * 5,), lambda: (list("abcab"),)),
    reference=count_pairs,
    slips=(Slip("ends-early", ends_early, "the last pair is missing."),),
)
SPAN = PlainExercise(
    name="span",
    lesson="start_here",
    inputs=("n",),
    by_hand=ByHand({"n": 3}, [1, 1], "1 + 1 + 1 = 3."),
    others=(lambda: (9,),),
    reference=lambda n: [1] * (n - 1),
    demands=(lambda given, steps: "" if 1 + sum(steps) >= given[0] else f"It spans {1 + sum(steps)} words.",),
    design=True,
)


def by_a_loop(words):
    found = Counter()
    for i in range(len(words) - 1):
        found[words[i], words[i + 1]] += 1
    return found


def eats_its_words(words):
    found = {}
    while len(words) > 1:
        pair = words.pop(0), words[0]
        found[pair] = found.get(pair, 0) + 1
    return found


def never_ends(words):
    while True:
        pass


def your_turn(words):
    raise NotImplementedError("Your turn")


@pytest.mark.parametrize(
    ("attempt", "status", "slip", "words"),
    [
        (count_pairs, "passed", None, "the same as the reference on 3 others"),
        (by_a_loop, "passed", None, "Right on the case"),
        (ends_early, "wrong", "ends-early", "Likely slip: the last pair is missing."),
        (lambda words: dict.fromkeys(pairwise(words), 1), "wrong", None, "not as in the reference"),
        (lambda words: {}, "wrong", None, "not what comes out by hand"),
        (lambda words: 3, "wrong", None, "It returned a int; a dict is wanted."),
        (lambda words: torch.tensor(3), "wrong", None, "It returned a Tensor of shape (); a dict is wanted."),
        (eats_its_words, "wrong", "in-place", "It changed its input `words` in place"),
        (lambda words: print(words), "wrong", "returns-none", "did you forget `return`?"),
        (lambda words: words[7], "wrong", "raises", "IndexError"),
        (never_ends, "wrong", "too-slow", "never ends"),
        (your_turn, "not tried", None, "Write your answer"),
        (lambda: 1, "wrong", "parameters", "Wanted: `count_pairs(words)`"),
    ],
)
def test_a_plain_answer_is_judged(attempt, status, slip, words):
    verdict = judge(replace(PAIRS, seconds=1), attempt)
    assert (verdict.status, verdict.slip) == (status, slip) and words in str(verdict), str(verdict)


def test_what_was_given_expected_and_got_is_shown():
    verdict = judge(PAIRS, lambda words: {})
    assert verdict.given == "words = ['a', 'b', 'a']" and verdict.got == "{}"
    assert verdict.expected == "{('a', 'b'): 1, ('b', 'a'): 1}"


@pytest.mark.parametrize(
    ("attempt", "status", "words"),
    [
        (lambda n: [2] * n, "passed", "All that was asked for holds."),
        (lambda n: [1], "wrong", "It spans 2 words."),
        (lambda n: "many", "wrong", "This cannot be used as an answer (TypeError"),
    ],
)
def test_a_design_must_meet_its_demands_and_need_not_be_the_authors(attempt, status, words):
    verdict = judge(SPAN, attempt)
    assert verdict.status == status and words in str(verdict), str(verdict)


def test_a_first_version_that_was_not_touched_is_not_tried():
    buggy = replace(PAIRS, unrepaired=ends_early, slips=())
    assert judge(buggy, ends_early).status == "not tried"
    assert judge(buggy, lambda words: ends_early(words)).slip == "unrepaired"


def test_a_test_of_a_plain_exercise():
    def good_test(implementation):
        assert implementation(["a", "b"]) == {("a", "b"): 1}

    exercise = TestExercise(
        name="test_pairs",
        lesson="start_here",
        of=PAIRS,
        what="counter",
        accepts={"with a loop": by_a_loop},
        rejects={"ends-early": "misses the last"},
        reference=good_test,
    )
    assert judge(exercise, good_test).status == "passed"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (torch.tensor([1, 2]), [1, 2], True),
        (np.array([1.0]), (1.0000001,), True),
        (float("nan"), float("nan"), True),
        (True, 1, False),
        ({"a": 1}, Counter("a"), True),
        ("a", ["a"], False),
        ([1, 2], [1, 2, 3], False),
        (1.0, 1.01, False),
    ],
)
def test_same(one, other, alike):
    assert same(one, other) is alike and same(other, one) is alike
