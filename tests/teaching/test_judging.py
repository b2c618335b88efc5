"""What a verdict says first, what it says besides, and what is checked in every kind of exercise."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    Slip,
    TensorExercise,
    TestExercise,
    explain_failure,
    find_exercise,
    gaussian,
    guarded_call,
    judge,
    wrong_only_at,
)
from course_lib.teaching.exercises.answer import copy_value
from course_lib.teaching.exercises.comparison import describe_difference, describe_form, values_match
from course_lib.teaching.exercises.derived_slips import derive_slips
from course_lib.teaching.exercises.variations import vary

DOUBLE_IT = find_exercise("double_it")


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(0))


def affine(x, weight, bias):
    return x * weight["w"] + bias


AFFINE = PlainExercise(
    name="affine",
    lesson="start_here",
    inputs=("x", "weight", "bias"),
    by_hand=ByHand(
        {"x": torch.tensor([[1.0, 2.0]]), "weight": {"w": torch.tensor([3.0, 4.0])}, "bias": torch.ones(2)},
        [[4.0, 9.0]],
        "1 · 3 + 1 = 4 and 2 · 4 + 1 = 9.",
    ),
    others=(
        lambda: (normal(3, 2), {"w": normal(2)}, normal(2)),
        lambda: (normal(2, 2, 5), {"w": normal(5)}, normal(5)),
        lambda: (normal(1, 1), {"w": normal(1)}, normal(1)),
    ),
    reference=affine,
    slips=(Slip("adds", lambda x, weight, bias: x + weight["w"] + bias, "the weight is added."),),
)
LOG = replace(
    AFFINE,
    name="log",
    inputs=("x",),
    by_hand=ByHand({"x": torch.zeros(2)}, [-0.6931, -0.6931], "Two equal probabilities."),
    others=(lambda: (normal(3),), lambda: (normal(2, 4),), lambda: (normal(5, 1),)),
    reference=lambda x: x.log_softmax(-1),
    slips=(),
)


# ---- the order


def test_a_wrong_worked_example_comes_before_an_exception_elsewhere():
    def attempt(x, weight, bias):
        if x.ndim > 2:
            raise ValueError("not so many axes")
        return x + weight["w"] + bias

    verdict = judge(AFFINE, attempt)
    assert verdict.slip == "adds" and verdict.expected and "worked example" in verdict.headline
    assert "ValueError: not so many axes" in verdict.details
    assert verdict.details.index("the weight is added") < verdict.details.index("ValueError")


def test_a_warning_of_the_reference_does_not_show_its_code():
    """Called with swapped inputs, as a slip, this one warns, and a warning quotes its line."""
    exercise = find_exercise("read_sequence")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert judge(exercise, lambda *inputs: exercise.reference(*inputs) * 1.5).status == "wrong"
    assert not caught


def test_an_exception_elsewhere_is_reported_if_all_answers_are_right():
    def attempt(x, weight, bias):
        assert len(x) > 1
        return affine(x, weight, bias)

    one_row = torch.ones(1, 2), {"w": torch.ones(2)}, torch.ones(2)
    by_hand = replace(AFFINE.by_hand, inputs={"x": torch.eye(2), "weight": one_row[1], "bias": one_row[2]})
    exercise = replace(AFFINE, by_hand=replace(by_hand, answer=[[2.0, 1.0], [1.0, 2.0]]))
    verdict = judge(exercise, attempt)
    assert verdict.slip == "raises" and "x = " in verdict.given


def test_a_function_for_one_number_of_axes_hears_that():
    def attempt(x, weight, bias):
        n_rows, n_columns = x.shape
        return affine(x.reshape(n_rows, n_columns), weight, bias)

    verdict = judge(AFFINE, attempt)
    assert verdict.slip == "fixed-axes" and "2 axes" in verdict.details
    assert "n_rows, n_columns = x.shape" in verdict.details


def test_a_function_that_fails_with_a_mask_only_hears_about_the_mask_and_not_about_axes():
    many_heads = find_exercise("many_heads")

    def attempt(x, source, w_q, w_k, w_v, w_o, n_heads, mask):
        if mask:
            raise AssertionError
        return many_heads.reference(x, source, w_q, w_k, w_v, w_o, n_heads, mask)

    verdict = judge(many_heads, attempt)
    assert "`mask`" in verdict.details and "axes" not in verdict.details


def test_a_function_that_always_fails_does_not_hear_that_it_is_right_without_an_input():
    verdict = judge(DOUBLE_IT, lambda numbers: 1 / 0)
    assert verdict.slip == "raises" and "None" not in verdict.details


def test_an_iterator_is_not_taken_for_chance():
    verdict = judge(find_exercise("my_rule"), lambda src, tgt: iter(tgt))
    assert verdict.slip == "wrong-type" and "iterator" in verdict.headline


def test_a_dictionary_of_tensors_that_loses_an_entry_is_not_a_tensor_that_changed():
    def attempt(x, weight, bias):
        return x * weight.pop("w") + bias

    verdict = judge(AFFINE, attempt)
    assert verdict.slip == "in-place" and "dict(x)" in verdict.details and "clone" not in verdict.details


def test_a_failed_worked_example_is_reported_with_the_slip_of_the_other_answers():
    def attempt(x, weight, bias):
        return {3.0: x}[3.0] + weight["w"] + bias if x[0, 0].sum() != 1 else None

    verdict = judge(AFFINE, attempt)
    assert "`None`" in verdict.headline and "x = [[1, 2]]" in verdict.given
    assert verdict.slip == "adds"


def test_the_call_that_returned_none_is_shown():
    verdict = judge(AFFINE, lambda x, weight, bias: None if x.shape[-1] == 5 else affine(x, weight, bias))
    assert verdict.slip == "returns-none" and "1.444" in verdict.given  # the second matrix


def test_numbers_come_before_the_shapes_of_other_cases():
    verdict = judge(DOUBLE_IT, lambda numbers: (numbers + 1)[:3])
    assert "worked example" in verdict.headline and verdict.slip != "wrong-shape"


def test_measurements_are_not_called_answers():
    exercise = TensorExercise(
        name="weights",
        lesson="start_here",
        inputs={"scores": gaussian("m n")},
        returns={"weights": "m n"},
        sizes={"m": 3, "n": 4},
        reference=lambda scores: scores.softmax(-1),
        by_hand=ByHand({"scores": [[0.0, 0.0]]}, {"weights": [[0.5, 0.5]]}, "Two equal scores."),
        invariants=(Invariant("each row sums to 1", lambda it: it.weights.sum(-1), equals=1.0),),
    )
    verdict = judge(exercise, lambda scores: scores.exp() / 2)
    assert verdict.measured and "each row sums to 1" in verdict.headline
    titles = [title for title, _ in verdict.numbers]
    assert "expected" not in titles and "yours" not in titles


# ---- whose code is quoted


def test_only_the_learners_lines_are_quoted():
    mask = find_exercise("training_mask")

    def attempt(x, weight, bias):
        return mask.reference("three")  # fails in the course's own code

    text = str(judge(AFFINE, attempt))
    assert 'return mask.reference("three")' in text and "def " not in text
    assert text.count("line ") == 1


# ---- form, gradients, harder inputs, chance


@pytest.mark.parametrize(
    ("attempt", "slip", "words"),
    [
        (lambda *inputs: affine(*inputs).tolist(), "wrong-form", "a tensor of shape (1, 2)"),
        (lambda *inputs: affine(*inputs).double(), "wrong-form", "torch.float64"),
        (lambda *inputs: affine(*inputs).detach(), "no-gradient", "`x`"),
        (lambda x, weight, bias: affine(x, weight, bias.detach()), "no-gradient", "`bias`"),
        (lambda x, weight, bias: affine(x, {"w": weight["w"].detach()}, bias), "no-gradient", "weight['w']"),
        (lambda x, weight, bias: affine(x.clone().mul_(1), weight, bias), None, ""),
        (lambda x, weight, bias: affine(x, weight, 0 * bias), "input-ignored", "`bias`"),
        (lambda x, weight, bias: affine(x, weight, bias) + bias, "input-doubled", "`bias`"),
        (lambda x, weight, bias: affine(x, weight, -bias), "input-negated", "`bias`"),
        (lambda x, weight, bias: affine(bias, weight, x), "swapped-inputs", "`x` and `bias`"),
        (lambda *inputs: affine(*inputs) + torch.randn(1), "random", ""),
        (lambda *inputs: affine(*inputs) + random.random(), "random", ""),
        (lambda *inputs: affine(*inputs) + 0 * hash("x"), "random", "`hash`"),
        (lambda x, weight, bias: affine(x, weight, bias).clamp(-20, 20), "large-numbers", "large"),
        (lambda x, weight, bias: affine(x, weight, bias + 5e-7), "tiny-numbers", "tiny"),
    ],
)
def test_a_plain_function_of_tensors_is_checked_in_every_respect(attempt, slip, words):
    verdict = judge(AFFINE, attempt)
    assert (verdict.status, verdict.slip) == ("wrong" if slip else "passed", slip), str(verdict)
    assert words in str(verdict)


def test_a_gradient_that_is_only_rounding_proves_nothing():
    """Over a single number, a fraction is always 1: written in one way, its gradient is 0, or else 1e-8."""
    fractions = TensorExercise(
        name="fractions",
        lesson="start_here",
        inputs={"x": gaussian("m n")},
        returns={"fractions": "m n"},
        sizes={"m": 4, "n": 5},
        reference=lambda x: x.square() / x.square().sum(-1, keepdim=True),
        by_hand=ByHand({"x": [[1.0, 1.0]]}, {"fractions": [[0.5, 0.5]]}, "Half each."),
    )
    verdict = judge(fractions, lambda x: (x / x.norm(dim=-1, keepdim=True)) ** 2)
    assert verdict.status == "passed", str(verdict)


def test_unstable_answers_fail_only_for_large_numbers():
    verdict = judge(LOG, lambda x: x.softmax(-1).log())
    assert verdict.slip == "large-numbers"
    assert judge(replace(LOG, variations=("tiny",)), lambda x: x.softmax(-1).log()).status == "passed"
    assert judge(replace(AFFINE, trains=False), lambda *inputs: affine(*inputs).detach()).status == "passed"


def masked_mean(x, mask):
    return (x * mask).sum(-1) / mask.sum(-1)


MASKED_MEAN = replace(
    AFFINE,
    name="masked_mean",
    inputs=("x", "mask"),
    by_hand=ByHand(
        {"x": torch.tensor([[1.0, 3.0, 5.0]]), "mask": torch.tensor([True, True, False])},
        [2.0],
        "(1 + 3) / 2.",
    ),
    others=(
        lambda: (normal(3, 4), torch.tensor([True, False, True, True])),
        lambda: (normal(2, 2), torch.tensor([True, False])),
        lambda: (normal(5, 2), torch.tensor([False, True])),
    ),
    reference=masked_mean,
    slips=(),
)


@pytest.mark.parametrize(
    ("attempt", "slip"),
    [
        (lambda x, mask: (x * mask).sum(-1) / mask.sum().clamp(max=3), "unmasked-numbers"),
        (lambda x, mask: masked_mean(x, mask) + (x == 0).all(), "zero-numbers"),
        (
            lambda x, mask: masked_mean(x, mask) + (len(x) > 1 and bool((x == x[:1]).all()) and x.any()),
            "equal-numbers",
        ),
        (lambda x, mask: masked_mean(x, ~mask), "input-inverted"),
    ],
)
def test_degenerate_inputs_are_tried(attempt, slip):
    verdict = judge(MASKED_MEAN, attempt)
    assert (verdict.status, verdict.slip) == ("wrong", slip), str(verdict)


def test_a_function_that_remembers_is_recognised():
    def attempt(x, weight, bias, seen=[]):  # noqa: B006
        seen.append(x)
        return affine(x, weight, bias) + len(seen)

    assert judge(AFFINE, attempt).slip == "random"


def test_variations_change_tensors_and_nothing_else():
    inputs = (normal(3, 2), torch.tensor([True, False]), torch.tensor([4, 5]), {"w": normal(2)}, 7, "word")
    varied = {variation.name: new for variation, new in vary(inputs)}
    assert set(varied) == {"large", "tiny", "equal", "zero", "unmasked"}
    for new in varied.values():
        assert new[3:] == inputs[3:] and [t.shape for t in new[:3]] == [t.shape for t in inputs[:3]]
    assert torch.equal(varied["equal"][2], torch.tensor([4, 4]))
    assert not varied["zero"][0].any() and varied["unmasked"][1].all()
    assert list(vary(([1, 2], "word"))) == []


def test_derived_slips_name_the_inputs():
    slips = list(derive_slips(("x", "weight", "bias"), affine, AFFINE.others[0]()))
    assert len(slips) == 1 + 3 * 3 + 2  # one swap of two tensors; three changes of each; two of a matrix
    masked = list(derive_slips(("mask",), lambda mask: mask, (torch.tensor([True, False]),)))
    assert [slip.name for slip in masked] == ["input-ignored", "input-inverted"]
    for counts in ((2, 1000), (1000, 2)):  # swapped, a loop over them might take forever
        assert not list(derive_slips(("n", "times"), max, counts))


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(3, 2), "(3, 2)"),
        ([1, 2, 3], [1, 2], "2 items"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, "`'b'`"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "answer['a'][1]"),
        ((torch.zeros(2), torch.ones(2)), (torch.zeros(2), torch.zeros(2)), "answer[1]"),
    ],
)
def test_the_first_difference_is_named(expected, got, words):
    assert words in describe_difference(expected, got)


@pytest.mark.parametrize(
    ("expected", "got", "fits"),
    [
        (torch.zeros(2), [0.0, 0.0], False),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64), False),
        (torch.ones(2, dtype=torch.bool), torch.ones(2), False),
        (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.int32), True),
        ([1, 2], torch.tensor([1, 2]), False),
        ([1, 2], [torch.tensor(1), torch.tensor(2)], False),
        ([], torch.zeros(0), False),
        ([1, 2], (1, 2), True),
        ([0.5, 0.5], torch.tensor([0.5, 0.5]), True),
        (0.5, torch.tensor(0.5), True),
        (3, torch.tensor(3), True),
        (torch.tensor(0.5), 0.5, True),
    ],
)
def test_form_is_what_later_lessons_need(expected, got, fits):
    assert (describe_form(expected, got) == "") is fits


# ---- tests that learners write

TEST_AFFINE = TestExercise(
    name="test_affine",
    lesson="start_here",
    of=AFFINE,
    what="affine map",
    accepts={},
    rejects={"adds": "adds the weight"},
    wrong={
        "is wrong in the last row": wrong_only_at((..., -1, slice(None)), affine, lambda *inputs: inputs[0]),
        "ignores the bias": lambda x, weight, bias: affine(x, weight, 0 * bias),
    },
    inputs=("implementation",),
    reference=lambda implementation: None,
)


def test_a_written_test_hears_what_it_missed_and_what_it_caught():
    def only_the_first_row(implementation):
        x, weight, bias = torch.ones(2, 2), {"w": torch.tensor([2.0, 3.0])}, torch.ones(2)
        assert implementation(x, weight, bias)[0].tolist() == [3.0, 4.0]

    def all_rows(implementation):
        x, weight, bias = torch.ones(2, 2), {"w": torch.tensor([2.0, 3.0])}, torch.ones(2)
        assert implementation(x, weight, bias).tolist() == [[3.0, 4.0], [3.0, 4.0]]

    verdict = judge(TEST_AFFINE, only_the_first_row)
    assert verdict.slip == "lets-through" and "2 of 3" in verdict.headline
    missed, caught = verdict.details.split("\n\n")
    assert [text.count("•") for text in (missed, caught)] == [1, 2]
    assert "is wrong in the last row" in missed and "ignores the bias" in caught
    assert judge(TEST_AFFINE, all_rows).status == "passed"


# ---- limits


def hoard(numbers):
    hoarded = []
    while True:
        hoarded.append(bytearray(2**24))


@pytest.mark.parametrize("by_system", [True, False])
def test_a_function_that_takes_too_much_memory_is_stopped(monkeypatch, by_system):
    monkeypatch.setattr(guarded_call, "MOST_MEMORY", 2**30)
    if not by_system:
        monkeypatch.setattr(guarded_call, "_limits_address_space", lambda: False)
    elif not guarded_call._limits_address_space():
        pytest.skip("the system doesn't limit the memory of a process")
    verdict = judge(replace(DOUBLE_IT, seconds=60), hoard)
    assert verdict.slip == "too-much-memory" and "1 GiB" in verdict.headline
    stopped_at = ["hoarded.append(bytearray(2**24))"] + ([] if by_system else ["while True:"])
    assert any(line in verdict.details for line in stopped_at)
    assert judge(DOUBLE_IT, lambda numbers: 2 * numbers).status == "passed"


@pytest.mark.skipif(guarded_call.resource is None, reason="no such limits on Windows")
@pytest.mark.parametrize(
    ("limit", "allowed"), [(-1, "4 GiB"), (8 * 2**30, "4 GiB"), (768 * 2**20, "0.75 GiB")]
)
def test_the_verdict_names_the_limit_that_applies(monkeypatch, limit, allowed):
    monkeypatch.setattr(guarded_call.resource, "getrlimit", lambda _: (limit, limit))
    result = guarded_call.CallResult(failure=guarded_call.Failure("MemoryError", "", ""))
    assert f"more than {allowed} " in explain_failure(result, 5.0).headline


def test_the_limit_needs_no_signal_and_works_in_any_thread():
    verdicts = []

    def loop(numbers):
        for _ in itertools.repeat(None):
            numbers = numbers + 1

    worker = threading.Thread(target=lambda: verdicts.append(judge(replace(DOUBLE_IT, seconds=0.3), loop)))
    worker.start()
    worker.join(20)
    assert verdicts[0].slip == "too-slow"


def test_a_call_that_is_busy_in_c_is_given_up():
    start = time.monotonic()
    verdict = judge(replace(DOUBLE_IT, seconds=0.2), lambda numbers: time.sleep(60))
    assert verdict.slip == "too-slow" and "time.sleep(60)" in verdict.details
    assert time.monotonic() - start < 50  # before the call itself ends


# ---- strict mode

STRICT = """
import tests.double_it
from course_lib.runtime import user_folder
from course_lib.teaching import check, yours

def double_it(numbers):
    return 2 * numbers

yours("double_it")
check("double_it", double_it)
yours("double_it")
print(user_folder())
"""
RUN = f"""
import linecache
source = {STRICT!r}
linecache.cache["cell"] = (len(source), None, source.splitlines(True), "cell")
exec(compile(source, "cell", "exec"), {{"__name__": "__main__"}})
"""


def test_in_strict_mode_a_process_has_a_folder_of_its_own_that_is_deleted_at_the_end():
    environment = {**os.environ, "COURSE_STRICT": "1", "PYTHONPATH": str(PROJECT_ROOT)}
    environment.pop("COURSE_HOME", None)
    options = {"env": environment, "capture_output": True, "text": True, "cwd": PROJECT_ROOT}
    run = subprocess.run([sys.executable, "-c", RUN], **options)
    before, after, folder = run.stdout.splitlines()
    assert "library" in before and "your version" in after, run.stderr
    assert Path(folder).parent == Path(tempfile.gettempdir()) and not Path(folder).exists()


def test_a_loop_that_is_stopped_is_named_the_same_way_every_time():
    def attempt(numbers):
        while True:
            for number in numbers:
                number.sqrt().sqrt()
            numbers = numbers + 1

    verdicts = {str(judge(replace(DOUBLE_IT, seconds=0.1), attempt)) for _ in range(8)}
    assert len(verdicts) == 1 and "`while True:`" in verdicts.pop()


# ---- answers that nobody expects


class Silent:
    def __repr__(self):
        raise ValueError("no text")


class Incomparable:
    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = None


@pytest.mark.parametrize("name", ["layer_norm", "wire_memory", "sinusoids", "count_next", "my_prediction"])
@pytest.mark.parametrize(
    "answer",
    [(), [], 10**400, Silent(), Incomparable(), [Silent()], {"x": Incomparable()}],
    ids=lambda answer: type(answer).__name__,
)
def test_a_strange_answer_is_wrong_and_no_exception(name, answer):
    verdict = judge(find_exercise(name), lambda *inputs: answer)
    assert verdict.status == "wrong" and repr(verdict) and verdict._repr_html_()


def test_a_tensor_without_numbers_is_wrong():
    verdict = judge(find_exercise("wire_memory"), lambda *inputs: torch.empty(2, device="meta"))
    assert verdict.status == "wrong"


def test_a_sparse_tensor_is_read_wherever_it_is():
    sparse = torch.eye(3).to_sparse()
    assert judge(find_exercise("sinusoids"), lambda n, d_model: sparse).status == "wrong"
    assert values_match([torch.eye(3)], copy_value([sparse]))
