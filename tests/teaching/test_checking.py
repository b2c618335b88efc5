"""`check` and its verdicts: what is recorded and shown, and the three kinds of exercise."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching.checking import check
from course_lib.teaching.exercises.answer import same
from course_lib.teaching.exercises.any_exercise import ByHand, Slip, judge
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.teaching.exercises.code_reading import notebook_numbers
from course_lib.teaching.exercises.plain_exercise import PlainExercise
from course_lib.teaching.exercises.tensor_exercise import Exercise, Invariant, gaussian, look_mask
from course_lib.teaching.exercises.verdict import Verdict
from course_lib.teaching.exercises.written_test import TestExercise
from course_lib.text.special import BOS, EOS


def your_turn(given):
    raise NotImplementedError("Your turn")


# ---- check


def test_results_are_recorded_and_a_stub_leaves_no_trace(course_home):
    def stub(numbers):
        raise NotImplementedError("Your turn")

    verdict, line = check("double_it", stub), stub.__code__.co_firstlineno + 1
    assert verdict.status == "not tried" and not course_home.exists()
    assert verdict.details == f'Still there: line {line}: `raise NotImplementedError("Your turn")`'
    check("double_it", lambda numbers: 2 * numbers)
    check("scaled_attention", lambda q, k, v: ((w := (q @ k.mT / k.shape[-1]).softmax(-1)) @ v, w))
    first, second = map(json.loads, (course_home / "progress.jsonl").read_text().strip().splitlines())
    assert first.pop("at") and second.pop("at")
    assert first == {"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"}
    assert second["status"] == "wrong" and second["misconception"] == "M07"


def test_strict_raises_with_the_whole_text_unless_passed(monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")
    assert check("double_it", lambda numbers: 2 * numbers).status == "passed"
    with pytest.raises(AssertionError, match="Likely slip: the numbers are squared"):
        check("double_it", lambda numbers: numbers**2)
    with pytest.raises(AssertionError, match="Not tried yet"):
        check("double_it", lambda numbers: your_turn(numbers))


def test_an_unknown_name_is_an_error_that_helps():
    with pytest.raises(ValueError, match=r"No exercise is called 'doubel_it'. Did you mean 'double_it'\?"):
        check("doubel_it", your_turn)
    with pytest.raises(ValueError, match="There are: double_it, "):
        check("xyz", your_turn)


# ---- verdicts

NASTY = '<script>alert("x")</script> & </pre>'
PARTS = ["headline", "details", "[2, 4]", "[1, 4]", "numbers = [1, 2]", "hello", "In truth:"]
FULL = Verdict(
    exercise="double_it",
    status="wrong",
    headline=f"headline {NASTY}",
    details=f"details {NASTY}\n\nuse `torch.stack` {NASTY}",
    slip="squares",
    misconception="M06",
    expected=f"[2, 4] {NASTY}",
    got=f"[1, 4] {NASTY}",
    given=f"numbers = [1, 2] {NASTY}",
    printed=f"hello {NASTY}",
)


class Text(HTMLParser):
    """The text of a page, its tags, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_verdict_says_the_same_in_words_and_in_html_where_nothing_is_markup():
    verdict = Verdict("double_it", "wrong", "It is off.", "Likely slip: squared.", expected="[2]", got="[1]")
    assert str(verdict) == (
        "✗ Not right yet · double_it\nIt is off.\n\nLikely slip: squared.\n\nexpected\n  [2]\nyours\n  [1]"
    )
    data, _ = DisplayFormatter().format(FULL)
    assert data == {"text/plain": str(FULL), "text/html": FULL._repr_html_()}
    page = Text(data["text/html"])
    assert all(part in page.text and part in data["text/plain"] for part in PARTS)
    assert not page.open and "script" not in page.tags
    assert page.text.count(NASTY) == 7 and page.tags.count("pre") == 4
    assert "<code>torch.stack</code>" in data["text/html"]
    assert "var(--jp-content-font-color1,inherit)" in data["text/html"]  # the page's colours
    assert not any(text in data["text/html"] for text in ("http", " id=", "<style"))


# ---- functions of tensors


def test_cases_follow_from_the_sizes_and_are_the_same_in_every_session():
    exercise = Exercise(
        name="seen",
        lesson="start_here",
        inputs={"x": gaussian("*batch n d"), "may_look": look_mask("*batch n d")},
        returns={"seen": "*batch n d"},
        sizes={"batch": (2, 3), "n": 4, "d": 5},
        reference=lambda x, may_look: x * may_look,
        by_hand=ByHand({"x": [[1, 2, 3]], "may_look": [[True, True, False]]}, {"seen": [[1, 2, 0]]}, "Seen."),
        invariants=(Invariant("0 stays 0", lambda it: it.seen[~it.may_look], equals=0, exactly=True),),
    )
    first = exercise.cases()
    shapes = [tuple(case.make()[0].shape) for case in first]
    assert shapes == [(1, 3), (2, 3, 4, 5), (5, 3), (2, 4, 4), (1, 1, 1), (2, 3, 4, 5), (2, 3, 4, 5)]
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        again = exercise.cases()
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(first, again, strict=True):
        assert one.make()[0].dtype == torch.float32 and torch.equal(one.make()[0], other.make()[0])
    fixed = replace(exercise, other_sizes=({"batch": (7,), "n": 2, "d": 6},))
    assert tuple(fixed.cases()[2].make()[0].shape) == (7, 2, 6)
    assert judge(exercise, lambda x, may_look: x.where(may_look, 0)).status == "passed"
    assert judge(exercise, lambda x, may_look: x * may_look + 1e-6).headline.startswith(
        "This must always hold"
    )


# ---- find the bug: the learner starts with a function that is wrong


def forgets_half(numbers):
    """As it is given to the learner."""
    half = len(numbers) // 2
    return torch.cat([2 * numbers[:half], numbers[half:]])


def as_it_was(numbers):
    # another comment, another docstring
    half = len(numbers) // 2
    return torch.cat([2 * numbers[:half],
                      numbers[half:]])  # fmt: skip


def test_a_bug_that_is_still_there_is_said_and_not_named():
    exercise = replace(exercise_called("double_it"), unrepaired=forgets_half)
    untouched, tried = judge(exercise, as_it_was), judge(exercise, lambda numbers: forgets_half(numbers))
    assert (untouched.status, tried.status) == ("not tried", "wrong")
    for verdict in untouched, tried:
        assert verdict.headline.startswith("This does what the first version did")
        assert verdict.slip == "unrepaired" and "half" not in str(verdict)
    assert judge(exercise, lambda numbers: numbers).slip == "unchanged"
    assert judge(exercise, lambda numbers: numbers + numbers).status == "passed"


def test_numbers_of_the_notebook_are_told_but_not_its_constants():
    def ends(words):
        return [BOS, *words, EOS, width]  # noqa: F821

    ends.__globals__["width"] = 3
    assert notebook_numbers(ends) == ["width"]


# ---- functions of ordinary things; the lessons' own wrong answers (test_mutants) try the rest


def count_pairs(words):
    return dict(Counter(pairwise(words)))


WRONG = {
    "ends-early": (lambda words: count_pairs(words[:-1]), "forgets the last pair"),
    "ones": (lambda words: dict.fromkeys(pairwise(words), 1), "counts each pair once"),
    "nothing": (lambda words: {}, "finds nothing"),
    "turned": (lambda words: count_pairs(words[::-1]), "turns the pairs round"),
}
PAIRS = PlainExercise(
    name="count_pairs",
    lesson="start_here",
    inputs=("words",),
    by_hand=ByHand({"words": ["a", "b", "a"]}, {("a", "b"): 1, ("b", "a"): 1}, "Two pairs, each once."),
    others=(lambda: ([],), lambda: (["a"] * 5,), lambda: (list("abcab"),)),
    reference=count_pairs,
    slips=tuple(Slip(name, wrong, f"it {words}.") for name, (wrong, words) in WRONG.items()),
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
TEST_PAIRS = TestExercise(
    name="test_pairs",
    lesson="start_here",
    of=PAIRS,
    what="counting",
    accepts={"with a Counter": lambda words: Counter(pairwise(words))},
    rejects={name: words for name, (_, words) in WRONG.items()},
    inputs=("count",),
    reference=count_pairs,
    seconds=0.5,
)


def eats_its_words(words):
    found = count_pairs(words)
    words.clear()
    return found


def good_test(count):
    assert count(words=list("abab")) == {("a", "b"): 2, ("b", "a"): 1}


def finds_something(count):
    assert count(["a", "b"])


def no_counters(count):
    assert type(count([])) is dict


def misspelt_on_the_way_out(count):
    if not count(["a", "b"]):
        raise AssertoinError  # noqa: F821


def loops_on_a_wrong_one(count):
    while not count(["a", "b"]):
        pass


@pytest.mark.parametrize(
    ("exercise", "attempt", "slip", "words"),
    [
        (PAIRS, lambda words: Counter(pairwise(words)), None, "the same as the reference on 3 others"),
        (PAIRS, lambda words: count_pairs(words[:-1]), "ends-early", "Likely slip: it forgets the last"),
        (PAIRS, lambda words: torch.tensor(3), None, "It returned a Tensor of shape (); a dict is wanted."),
        (PAIRS, eats_its_words, "in-place", "It changed its input `words` in place"),
        (SPAN, lambda n: [2] * n, None, "All that was asked for holds."),
        (SPAN, lambda n: [1], None, "It spans 2 words."),
        (SPAN, lambda n: "many", None, "This cannot be used as an answer (TypeError"),
        (TEST_PAIRS, good_test, None, "lets every right counting through and catches all 4 wrong ones"),
        (TEST_PAIRS, finds_something, "lets-through", "It catches 2 of 4 wrong ones. It let through one that "
         "counts each pair once and one that turns the pairs round."),
        (TEST_PAIRS, no_counters, "too-strict", "a right counting, written with a Counter"),
        (TEST_PAIRS, misspelt_on_the_way_out, "raises", "This was with one that forgets the last pair"),
        (TEST_PAIRS, loops_on_a_wrong_one, "too-slow", "never ends"),
    ],
)  # fmt: skip
def test_a_plain_answer_and_a_written_test_are_judged(exercise, attempt, slip, words):
    verdict = judge(exercise, attempt)
    assert verdict.slip == slip and words in str(verdict), str(verdict)
    assert verdict.status == ("passed" if words.endswith(("others", "holds.", "wrong ones")) else "wrong")


def test_what_was_given_expected_and_got_is_shown():
    verdict = judge(PAIRS, lambda words: {("a", "b"): 1})
    assert verdict.headline == "This is not what comes out by hand."
    assert verdict.given == "words = ['a', 'b', 'a']" and verdict.got == "{('a', 'b'): 1}"
    assert verdict.expected == "{('a', 'b'): 1, ('b', 'a'): 1}"


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
