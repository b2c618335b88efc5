"""`check` and its verdicts: what is recorded and shown, the three kinds of exercise, and what is loaded."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter

from course_lib.runtime import PROJECT_ROOT, UsedFolderError
from course_lib.teaching import exercises
from course_lib.teaching.checking import check
from course_lib.teaching.code_reading import find_notebook_numbers
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    Slip,
    TensorExercise,
    TestExercise,
    Verdict,
    attention_mask,
    find_exercise,
    gaussian,
    judge,
)
from course_lib.teaching.exercises.comparison import tensors_match, values_match
from course_lib.text.special import BOS, EOS

FOLDER = PROJECT_ROOT / "course_lib" / "teaching" / "exercises"


def your_turn(given):
    raise NotImplementedError("Your turn")


# ---- check


def test_results_are_recorded_and_a_stub_leaves_no_trace(course_home):
    def stub(numbers):
        raise NotImplementedError("Your turn")

    verdict, line = check("double_it", stub), stub.__code__.co_firstlineno + 1
    assert verdict.status == "not tried" and not course_home.exists()
    assert f'line {line}: `raise NotImplementedError("Your turn")`' in verdict.details
    check("double_it", lambda numbers: 2 * numbers)
    check("scaled_attention", lambda q, k, v: ((w := (q @ k.mT / k.shape[-1]).softmax(-1)) @ v, w))
    first, second = map(json.loads, (course_home / "progress.jsonl").read_text().strip().splitlines())
    assert first.pop("at") and second.pop("at")
    assert first == {"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"}
    assert second["status"] == "wrong" and second["misconception"] == "M07"


def test_strict_raises_with_the_whole_text_unless_passed(monkeypatch, tmp_path):
    attempts = [lambda numbers: numbers**2, lambda numbers: your_turn(numbers)]
    texts = [str(check("double_it", attempt)) for attempt in attempts]
    monkeypatch.setenv("COURSE_STRICT", "1")
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "new"))

    def double_it(numbers):
        return 2 * numbers

    assert check("double_it", double_it).status == "passed"
    with pytest.raises(AssertionError, match="library's version"):
        check("double_it", lambda numbers: 2 * numbers)  # right, but without a name nothing can be kept
    for attempt, text in zip(attempts, texts, strict=True):
        with pytest.raises(AssertionError, match=re.escape(text)):
            check("double_it", attempt)


@pytest.mark.parametrize("variable", ["COURSE_STRICT", "NBGRADER_EXECUTION"])
def test_strict_refuses_the_folder_of_an_earlier_submission(monkeypatch, tmp_path, variable):
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    (tmp_path / "my_road.py").touch()
    for _ in range(2):
        with pytest.raises(UsedFolderError, match=r"my_road.py .*Unset COURSE_HOME"):
            check("double_it", your_turn)
    assert [file.name for file in tmp_path.iterdir()] == ["my_road.py"]


def test_a_notebook_shows_a_strict_verdict_without_a_traceback(monkeypatch, tmp_path):
    text = str(check("double_it", your_turn))
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "new"))
    with pytest.raises(AssertionError) as error:
        check("double_it", your_turn)
    assert "\n".join(error.value._render_traceback_()) == text


def test_an_unknown_name_is_an_error_that_helps():
    with pytest.raises(ValueError, match=r"'doubel_it'.* 'double_it'\?"):
        check("doubel_it", your_turn)
    with pytest.raises(ValueError, match=r"'xyz'.* exact_match, "):
        check("xyz", your_turn)


def test_if_the_check_itself_fails_the_advice_is_to_restart_the_kernel(monkeypatch):
    monkeypatch.setattr("course_lib.teaching.progress.record", None)
    with pytest.raises(TypeError) as error:
        check("double_it", lambda numbers: 2 * numbers)
    assert "restart the kernel" in error.value.__notes__[0]
    with pytest.raises(ValueError) as error:
        check("doubel_it", your_turn)
    assert not hasattr(error.value, "__notes__")


FIRST_CHECK = """
import sys
from course_lib.teaching import check
print(check("scaled_attention", lambda queries, keys, values: keys).slip)
print([name for name in sys.modules if name.startswith("lessons.") and name.endswith(".exercises")])
"""


def test_the_first_check_of_a_session_loads_the_exercises_of_one_lesson(course_home):
    environment = {**os.environ, "COURSE_HOME": str(course_home), "PYTHONPATH": str(PROJECT_ROOT)}
    command = [sys.executable, "-c", FIRST_CHECK]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=PROJECT_ROOT)
    lines = ["missing-output", "['lessons.l08_query_key_value.exercises']"]
    assert run.stdout.splitlines() == lines, run.stderr


def test_imports_of_the_exercises_package_go_one_way():
    """In the order of its docstring, each file imports only from those above it."""
    order = re.findall(r"^(\w+)\.py  ", exercises.__doc__, re.MULTILINE)
    assert order[0] == "verdict" and order[-1] == "own_work"
    for index, name in enumerate(order):
        tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
        modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        within = {module.rpartition(".")[2] for module in modules if module.startswith(exercises.__name__)}
        assert within <= set(order[:index]), name


# ---- verdicts

NASTY = '<script>alert("x")</script> & </pre>'
PARTS = ["headline", "details", "[2, 4]", "[1, 4]", "numbers = [1, 2]", "hello"]
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


def test_expected_and_yours_have_a_row_of_their_own_below_the_inputs():
    verdict = Verdict("double_it", "wrong", "Not yet.", given="x = [1]", expected="[2]", got="[3]")
    inputs, answers = verdict._repr_html_().split("display:grid")[1:]
    assert "inputs" in inputs and "expected" in answers and "yours" in answers


def test_a_verdict_says_the_same_in_words_and_in_html_where_nothing_is_markup():
    verdict = Verdict("double_it", "wrong", "It is off.", "Likely cause: squared.", expected="[2]", got="[1]")
    title, *lines = str(verdict).splitlines()
    assert "✗" in title and "double_it" in title
    assert lines == [
        "It is off.",
        "",
        "Likely cause: squared.",
        "",
        "expected",
        "  [2]",
        "yours",
        "  [1]",
    ]
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
    exercise = TensorExercise(
        name="seen",
        lesson="start_here",
        inputs={"x": gaussian("*batch n d"), "mask": attention_mask("*batch n d")},
        returns={"seen": "*batch n d"},
        sizes={"batch": (2, 3), "n": 4, "d": 5},
        reference=lambda x, mask: x * mask,
        by_hand=ByHand({"x": [[1, 2, 3]], "mask": [[True, True, False]]}, {"seen": [[1, 2, 0]]}, "Seen."),
        invariants=(Invariant("0 stays 0", lambda it: it.seen[~it.mask], equals=0, exactly=True),),
    )
    first = exercise.cases
    shapes = [tuple(case.make()[0].shape) for case in first]
    assert shapes == [(1, 3), (2, 3, 4, 5), (5, 3), (2, 4, 4), (1, 1, 1), *[(2, 3, 4, 5)] * 6]
    names = [case.variation.name for case in first[5:]]
    assert names == ["large", "large", "tiny", "equal", "zero", "unmasked"]
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        again = replace(exercise).cases
    finally:
        torch.set_default_dtype(torch.float32)
    for case, other in zip(first, again, strict=True):
        assert case.make()[0].dtype == torch.float32 and torch.equal(case.make()[0], other.make()[0])
    fixed = replace(exercise, other_sizes=({"batch": (7,), "n": 2, "d": 6},))
    assert tuple(fixed.cases[2].make()[0].shape) == (7, 2, 6)
    assert judge(exercise, lambda x, mask: x.where(mask, 0)).status == "passed"
    assert "0 stays 0" in judge(exercise, lambda x, mask: x * mask + 1e-6).headline


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


def test_a_bug_that_is_still_there_is_reported_and_not_named():
    exercise = replace(find_exercise("double_it"), unrepaired=forgets_half)
    untouched, tried = judge(exercise, as_it_was), judge(exercise, lambda numbers: forgets_half(numbers))
    assert (untouched.status, tried.status) == ("not tried", "wrong")
    for verdict in untouched, tried:
        assert verdict.slip == "unrepaired" and "first version" in verdict.headline
        assert "half" not in str(verdict)
    assert judge(exercise, lambda numbers: numbers).slip == "unchanged"
    assert judge(exercise, lambda numbers: numbers + numbers).status == "passed"


def test_numbers_of_the_notebook_are_found_but_not_its_constants():
    def ends(words):
        return [BOS, *words, EOS, width]  # noqa: F821

    ends.__globals__["width"] = 3
    assert find_notebook_numbers(ends) == ["width"]


def test_a_function_without_inputs_is_not_told_to_use_them():
    def wire():
        return (width, width, width)  # noqa: F821

    wire.__globals__["width"] = 3.0
    details = judge(find_exercise("wire_memory"), wire).details
    assert "`width`" in details and "inputs" not in details


# ---- functions of plain values, and written tests; the lessons' wrong answers (test_mutants) try the rest


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


def eats_its_words(words):
    counts = count_pairs(words)
    words.clear()
    return counts


def good_test(count):
    assert count(words=list("abab")) == {("a", "b"): 2, ("b", "a"): 1}


TEST_PAIRS = TestExercise(
    name="held_out_pairs",
    lesson="start_here",
    of=PAIRS,
    what="counting",
    accepts={"with a Counter": lambda words: Counter(pairwise(words))},
    rejects={name: words for name, (_, words) in WRONG.items()},
    inputs=("count",),
    reference=good_test,
    seconds=0.5,
)


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
    ("exercise", "attempt", "status", "slip", "words"),
    [
        (PAIRS, lambda words: Counter(pairwise(words)), "passed", None, "3 other"),
        (PAIRS, lambda words: count_pairs(words[:-1]), "wrong", "ends-early", "it forgets the last pair"),
        (PAIRS, lambda words: torch.tensor(3), "wrong", None, "a tensor of shape ()"),
        (PAIRS, eats_its_words, "wrong", "in-place", "`words`"),
        (SPAN, lambda n: [2] * n, "passed", None, ""),
        (SPAN, lambda n: [1], "wrong", None, "It spans 2 words."),
        (SPAN, lambda n: "many", "wrong", None, "returned a string"),
        (TEST_PAIRS, good_test, "passed", None, "all 4 wrong"),
        (TEST_PAIRS, finds_something, "wrong", "lets-through", "2 of 4"),
        (TEST_PAIRS, finds_something, "wrong", "lets-through", "counts each pair once"),
        (TEST_PAIRS, finds_something, "wrong", "lets-through", "turns the pairs round"),
        (TEST_PAIRS, no_counters, "wrong", "too-strict", "with a Counter"),
        (TEST_PAIRS, misspelt_on_the_way_out, "wrong", "raises", "forgets the last pair"),
        (TEST_PAIRS, loops_on_a_wrong_one, "wrong", "too-slow", "0.5 seconds"),
    ],
)
def test_a_plain_answer_and_a_written_test_are_judged(exercise, attempt, status, slip, words):
    verdict = judge(exercise, attempt)
    assert (verdict.status, verdict.slip) == (status, slip), str(verdict)
    assert words in str(verdict)


def test_inputs_expected_answer_and_own_answer_are_shown():
    verdict = judge(PAIRS, lambda words: {("a", "b"): 1})
    assert PAIRS.by_hand.says in verdict.details
    assert verdict.given == "words = ['a', 'b', 'a']" and verdict.got == "{('a', 'b'): 1}"
    assert verdict.expected == "{('a', 'b'): 1, ('b', 'a'): 1}"


@pytest.mark.parametrize(
    ("value", "other", "match"),
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
def test_values_match_up_to_rounding_whatever_holds_them(value, other, match):
    assert values_match(value, other) is match and values_match(other, value) is match


def nested_match(value, other, **options):
    return values_match({"a": [value]}, {"a": [other]}, **options)


@pytest.mark.parametrize(
    ("match", "expected", "tolerance"),
    [
        (tensors_match, torch.tensor([0.0]), 3e-5),
        (tensors_match, torch.tensor([1.0]), 1.3e-4),
        (partial(tensors_match, scaled=True), torch.tensor([0.0, 100.0]), 3e-3),
        (partial(tensors_match, scaled=True), torch.tensor([100.0]), 0.103),
        *((match, torch.tensor([0.0]), 1e-6) for match in (values_match, nested_match)),
        *((match, torch.tensor([1.0]), 1.01e-4) for match in (values_match, nested_match)),
        *((match, 0.0, 1e-8) for match in (values_match, nested_match)),
        *((match, 1.0, 1e-4) for match in (values_match, nested_match)),
        *((partial(match, scaled=True), 1.0, 1e-3) for match in (values_match, nested_match)),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_error_may_be_as_large_as_the_tolerance_and_no_larger(match, expected, tolerance, sign):
    assert match(expected, expected + 0.9 * sign * tolerance)
    assert not match(expected, expected + 1.1 * sign * tolerance)


NUMBERS = torch.tensor([1.0, float("nan"), -0.5])
is_unchanged = partial(values_match, exact_tensors=True)


@pytest.mark.parametrize(
    ("after", "unchanged"),
    [
        (NUMBERS.clone(), True),
        (NUMBERS.clone().requires_grad_(), True),
        (NUMBERS + 1e-7, False),  # to the last bit
        (NUMBERS.nan_to_num(), False),
        (NUMBERS[None], False),
        (NUMBERS.double(), False),
    ],
)
def test_a_change_of_an_input_is_found_by_tensor_equality_wherever_the_tensor_is(after, unchanged):
    assert is_unchanged(NUMBERS, after) is unchanged
    held, held_after = ({"weights": [1, "a", (tensor, len)]} for tensor in (NUMBERS, after))
    assert is_unchanged(held, held_after) is unchanged
    mask = torch.tensor([True, False])
    assert is_unchanged(mask, mask.clone()) and not is_unchanged(mask, ~mask)
    assert not is_unchanged([NUMBERS], [NUMBERS, NUMBERS]) and not is_unchanged({"a": 1}, {"b": 1})
