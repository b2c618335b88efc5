"""Whatever a learner's function does, the call comes back and the session is as it was."""

from __future__ import annotations

import _thread
import builtins
import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
import torch
from IPython.core.autocall import ExitAutocall

from course_lib.layers.attention import attend
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.checking import check
from course_lib.teaching.exercises import find_exercise, function_examination, guarded_call, judge
from course_lib.teaching.exercises.session import find_replaced

DOUBLE_IT = find_exercise("double_it")
IMPATIENT = replace(DOUBLE_IT, seconds=0.3)
exit = ExitAutocall()  # what `exit` is in a notebook


def double(numbers):
    return 2 * numbers


def loop(numbers):
    while True:
        numbers = numbers + 1


def loop_that_catches(numbers):
    while True:
        try:
            numbers = torch.add(numbers, 1)
        except:  # noqa: E722
            continue


def loop_that_prints(numbers):
    while True:
        print("again and again")


def swallows_once(numbers):
    with contextlib.suppress(BaseException):
        while True:
            pass
    return 2 * numbers


class Raising:
    """Every look at it raises."""

    @property
    def __class__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __array__ = __len__ = __float__ = __repr__


class RaisingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise ArithmeticError("not me")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


class PrintsForEver(Exception):
    def __str__(self):
        while True:
            pass


def raising(error):
    def attempt(numbers):
        raise error

    return attempt


def list_in_itself():
    items: list = []
    items.append(items)
    return items


def raises_in_the_course(numbers):
    return attend(numbers[None], numbers[None, :1], numbers[None])


def raises_in_torch(numbers):
    weights = torch.nn.functional.softmax(numbers, dim=3)
    return weights


def checks_itself(numbers):
    check("double_it", checks_itself)
    return 2 * numbers


def calls_itself(numbers):
    return calls_itself(numbers)


def exits(numbers):
    exit()


HOSTILE = [
    (loop, "too-slow", "line ", "0.3 seconds"),
    (loop_that_catches, "too-slow"),
    (loop_that_prints, "too-slow", "more characters"),
    (swallows_once, "too-slow"),
    (lambda numbers: time.sleep(12), "too-slow", "kernel"),
    (raising(PrintsForEver()), "too-slow"),
    (lambda numbers: torch.ones(1).expand(10**12), "too-large", "100,000"),
    (lambda numbers: [[0.0] * 10**4] * 10**4, "too-large"),
    (lambda numbers: torch.ones(3, device="meta"), "unreadable", "meta tensor"),
    (lambda numbers: numbers.as_subclass(RaisingTensor), "unchanged"),
    (lambda numbers: Raising(), "unreadable"),
    (lambda numbers: list_in_itself(), "unreadable", "RecursionError"),
    (lambda numbers: (2 * n for n in numbers), "wrong-type", "`yield`"),
    (lambda numbers: {"doubled": 2 * numbers}, "wrong-type", "is a dict"),
    (lambda numbers: [[1.0], [2.0, 3.0]], "python-numbers"),
    (lambda numbers: [10**400] * 3, "python-numbers"),
    (lambda numbers: np.array(["a", "b"]), "numpy"),
    (lambda numbers: namedtuple("Pair", "a b")(numbers, numbers), "tuple"),
    (lambda numbers: torch.sparse_coo_tensor(size=(4,)), "wrong-shape"),
    (lambda numbers: torch.nested.nested_tensor([numbers, numbers[:1]]), "unreadable", "nested"),
    (lambda numbers: numbers.resize_(0) * 2, "wrong-shape", "in place"),
    (lambda numbers: 2 * numbers.to(torch.float16), "dtype", "torch.float16"),
    (lambda: 2, "parameters"),
    (raising(SystemExit), "exit"),
    (lambda numbers: exits(numbers), "exit", "`return`"),
    (checks_itself, "check-inside"),
    (raising(Unprintable()), "raises", "Unprintable: (", "`raise error`"),
    (raising(ValueError("x" * 5000)), "raises", "x …"),
    (calls_itself, "raises", "RecursionError", "calls itself"),
    (lambda numbers: torch.empty(10**15), "too-much-memory"),
    (lambda *numbers, **more: 1 / 0, "raises", "ZeroDivisionError"),
    (
        raises_in_torch,
        "raises",
        "`weights = torch.nn.functional.softmax(numbers, dim=3)`",
        "`dim=-1`",
    ),
    (raises_in_the_course, "raises", "`return attend(numbers[None], numbers[None, :1], numbers[None])`"),
    (type("Odd", (), {"__call__": None})(), "raises"),
]


@pytest.mark.parametrize(("attempt", "slip", "words"), [(row[0], row[1], row[2:]) for row in HOSTILE])
def test_a_hostile_attempt_gets_a_true_verdict(attempt, slip, words):
    verdict = judge(IMPATIENT if slip == "too-slow" else DOUBLE_IT, attempt)
    assert (verdict.status, verdict.slip) == ("wrong", slip), str(verdict)
    assert all(word in str(verdict) for word in words), str(verdict)
    assert len(str(verdict)) < 2500 and " at 0x" not in str(verdict) and "Traceback" not in str(verdict)
    assert verdict._repr_html_() and getattr(exit, "_ip", None) is None
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    after = judge(DOUBLE_IT, double)
    assert after.status == "passed", str(after)


def test_a_function_with_a_parameter_does_not_fit_an_exercise_without_inputs():
    verdict = judge(find_exercise("my_claim"), double)
    assert verdict.slip == "parameters"


def test_the_stop_button_passes_through_and_leaves_no_timer():
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judge(replace(DOUBLE_IT, seconds=20), loop)
    timer.join()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_timer_that_was_set_before_goes_on():
    fired = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: fired.set())
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        assert judge(IMPATIENT, loop).slip == "too-slow"
        assert fired.wait(5)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_in_another_thread_it_works_without_a_timer():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(judge(DOUBLE_IT, double)))
    thread.start()
    thread.join()
    assert verdicts[0].status == "passed"


def test_an_import_is_never_left_half_done(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.5)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def attempt(numbers):
        import slow_to_import

        return 2 * numbers if slow_to_import.whole else None

    verdict = judge(IMPATIENT, attempt)
    assert verdict.status == "passed" or verdict.slip == "too-slow"  # on a busy machine, after the import
    assert sys.modules.pop("slow_to_import").whole


def test_prints_and_warnings_are_kept_and_limited(capsys):
    def attempt(numbers):
        print("shape:", tuple(numbers.shape))
        print("to the other stream", file=sys.stderr)
        warnings.warn("take care", stacklevel=1)
        return 2 * numbers

    verdict = judge(DOUBLE_IT, attempt)
    assert verdict.status == "passed"
    assert "call 1:\nshape: (3,)\nto the other stream\nUserWarning: take care" in verdict.printed
    assert "call 3:\n" in verdict.printed and "call 4:\n" not in verdict.printed
    assert "<details" in verdict._repr_html_()
    assert len(judge(IMPATIENT, loop_that_prints).printed) < 1200
    assert capsys.readouterr() == ("", "")


def test_the_session_is_as_it_was():
    def attempt(numbers):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_default_device("meta")
        torch.use_deterministic_algorithms(True)
        sys.setrecursionlimit(2500)
        torch.manual_seed(1), np.random.seed(1), random.seed(1)
        warnings.simplefilter("ignore")
        sys.stdout = io.StringIO()
        return 2 * numbers.cpu()

    def state() -> list:
        torch.manual_seed(7), np.random.seed(7), random.seed(7)
        judge(DOUBLE_IT, attempt if judged else double)
        numbers = [torch.rand(1).item(), np.random.rand(), random.random()]
        modes = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device()
        limits = torch.are_deterministic_algorithms_enabled(), sys.getrecursionlimit(), sys.setrecursionlimit
        return [*numbers, *modes, *limits, list(warnings.filters), sys.stdout]

    judged = False
    before, judged = state(), True
    assert state() == before
    with torch.no_grad(), torch.inference_mode():  # what the session has on does not disturb a check
        assert judge(DOUBLE_IT, double).status == "passed"
        assert not torch.is_grad_enabled()


@pytest.mark.parametrize(
    "change", [lambda x: x.mul_(3), lambda x: x.unsqueeze_(0), lambda x: x.__setitem__(0, 5.0)]
)
def test_inputs_are_copies_and_every_kind_of_change_is_seen(change):
    def attempt(numbers):
        right = 2 * numbers
        change(numbers)
        return right

    verdict = judge(DOUBLE_IT, attempt)
    assert verdict.slip == "in-place" and "right" in verdict.headline
    assert "`numbers`" in verdict.details


def test_the_innermost_line_of_the_learner_is_named_even_without_a_file():
    namespace: dict = {}
    exec("def inner(x):\n    return x + y\n\ndef attempt(numbers):\n    return inner(numbers)\n", namespace)
    text = str(judge(DOUBLE_IT, namespace["attempt"]))
    assert "line 2 of `inner`" in text and "NameError" in text


def test_an_exception_in_a_finalizer_is_nobody_s_problem(monkeypatch):
    """The timer may interrupt the finalizer of any object, and the report of that takes time as well."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    hook = sys.unraisablehook

    class Resource:
        def __del__(self):
            raise RuntimeError("interrupted")

    def attempt(numbers):
        Resource()
        return 2 * numbers

    assert judge(DOUBLE_IT, attempt).status == "passed"
    assert reported == [] and sys.unraisablehook == hook


# ---- a session that was changed before the check

CREATES_TENSORS = {  # answers that use torch's defaults, of all three kinds
    "double_it": lambda numbers: torch.full_like(numbers, 2) * numbers * torch.ones(1),
    "sinusoids": find_exercise("sinusoids").reference,
    "test_norm": find_exercise("test_norm").reference,
    "greedy_decode": find_exercise("greedy_decode").reference,
}


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
        (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
        (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)),
        (
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
        ),
    ],
)
def test_torchs_settings_do_not_disturb_a_check_and_stay_as_they_are(change, undo):
    def settings() -> tuple:
        modes = torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled()
        return torch.get_default_dtype(), torch.get_default_device(), *modes

    change()
    try:
        before = settings()
        verdicts = [judge(find_exercise(name), attempt) for name, attempt in CREATES_TENSORS.items()]
        after = settings()
    finally:
        undo()
    assert [verdict.status for verdict in verdicts] == ["passed"] * 4, verdicts
    assert after == before


@pytest.mark.parametrize(
    "path",
    [
        "math.exp",
        "numpy.exp",
        "torch.softmax",
        "torch.Tensor.sum",
        "torch.Tensor.__matmul__",
        "torch.nn.functional.softmax",
    ],
)
@pytest.mark.parametrize("exercise", ["double_it", "test_attention", "my_rule"])
def test_nothing_is_judged_while_a_library_is_changed(exercise, path, monkeypatch, course_home):
    monkeypatch.setattr(path, lambda *inputs: None)
    verdict = check(exercise, find_exercise(exercise).reference)
    assert verdict.status == "not judged" and f"`{path}`" in verdict.headline
    assert "kernel" in verdict.details and not course_home.exists()  # no attempt is recorded
    assert "not judged" in str(verdict).lower() and verdict._repr_html_()


def test_a_function_that_was_deleted_counts_as_replaced(monkeypatch):
    monkeypatch.delattr(torch, "softmax")
    assert find_replaced() == ["torch.softmax"]


def test_a_wrong_answer_does_not_pass_because_of_what_was_replaced(monkeypatch):
    monkeypatch.setattr(torch, "allclose", lambda *inputs, **named: True)
    assert judge(DOUBLE_IT, lambda numbers: 3 * numbers).status == "not judged"


def test_what_a_package_replaces_does_not_count(monkeypatch):
    monkeypatch.setattr(torch, "softmax", torch.nn.functional.softmax)
    assert find_replaced() == []
    assert judge(DOUBLE_IT, double).status == "passed"


@pytest.mark.parametrize("exercise", [DOUBLE_IT, find_exercise("test_attention")])
def test_a_function_that_replaces_one_of_torch_hears_that_and_it_is_undone(exercise):
    original = torch.Tensor.sum

    def attempt(numbers):
        torch.Tensor.sum = lambda tensor: tensor
        return 2 * numbers

    def attempt_at_a_test(attention):
        torch.Tensor.sum = lambda tensor: tensor

    verdict = judge(exercise, attempt if exercise is DOUBLE_IT else attempt_at_a_test)
    assert (verdict.status, verdict.slip) == ("wrong", "replaces"), str(verdict)
    assert "`torch.Tensor.sum`" in verdict.headline
    assert torch.Tensor.sum is original and find_replaced() == []
    assert judge(DOUBLE_IT, double).status == "passed"


def test_pythons_own_functions_and_modules_that_a_function_spoils_are_restored(monkeypatch):
    monkeypatch.setattr(builtins, "len", len)  # the old value is restored, whatever happens
    monkeypatch.setitem(sys.modules, "torch", torch)

    def attempt(numbers):
        builtins.len = builtins.isinstance = None
        del sys.modules["torch"]
        return 2 * numbers

    assert judge(DOUBLE_IT, attempt).status == "passed"
    assert len("two") == 3 and sys.modules["torch"] is torch


def fails(*inputs):
    raise RuntimeError("something has changed")


@pytest.mark.parametrize("reference", [fails, lambda numbers: 3 * numbers])
def test_an_answer_is_not_wrong_if_the_reference_fails_its_own_example(reference, monkeypatch, course_home):
    exercise = replace(DOUBLE_IT, reference=reference)
    monkeypatch.setattr("course_lib.teaching.checking.find_exercise", lambda name: exercise)
    verdict = check("double_it", double)
    assert verdict.status == "not judged" and "kernel" in verdict.details
    assert not course_home.exists()
    of = replace(find_exercise("test_attention").of, reference=fails)
    test_attention = replace(find_exercise("test_attention"), of=of)
    assert judge(test_attention, test_attention.reference).status == "not judged"


def test_an_error_in_the_course_is_not_blamed_on_the_session(monkeypatch):
    monkeypatch.setattr(function_examination, "uses_hash", lambda attempt: int("x"))
    monkeypatch.setattr(guarded_call, "CODE_OF_OTHERS", (*guarded_call.CODE_OF_OTHERS, __file__))
    with pytest.raises(ValueError, match="invalid literal"):
        judge(DOUBLE_IT, double)


# ---- operations that go on


@pytest.fixture
def released():
    """What is blocked by this event can't be stopped, and ends with its test."""
    event, before = threading.Event(), set(threading.enumerate())
    yield event
    event.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)


def test_an_operation_that_was_given_up_is_mentioned_while_it_runs(released, monkeypatch):
    monkeypatch.setattr(guarded_call, "_given_up", [])
    assert "earlier" not in judge(IMPATIENT, loop).details
    assert "kernel" in judge(IMPATIENT, lambda numbers: released.wait()).details
    assert "earlier" in judge(IMPATIENT, loop).details
    released.set()
    guarded_call._given_up[0].join(20)
    assert "earlier" not in judge(IMPATIENT, loop).details


def test_a_matrix_times_a_batch_gets_advice_about_the_order():
    details = judge(DOUBLE_IT, lambda numbers: torch.ones(5, 4) @ torch.ones(2, 3, 4)).details
    assert "`x @ w.T`" in details and "bmm" not in details


FREEZES = """
import time
from dataclasses import replace
from course_lib.teaching.exercises import find_exercise, guarded_call, judge

guarded_call.FROZEN = 0.5

def attempt(numbers):
    start = time.monotonic()
    while time.monotonic() - start < 3:  # one call of sum takes longer than the limit, even on a fast machine
        start -= sum(range(10**8)) and 3

print(judge(replace(find_exercise("double_it"), seconds=0.2), attempt).slip)
"""


def run_alone(source: str) -> subprocess.CompletedProcess:
    options = {"capture_output": True, "text": True, "cwd": PROJECT_ROOT, "timeout": 300}
    return subprocess.run([sys.executable, "-c", f"import tests.double_it\n{source}"], **options)


def test_while_no_thread_can_run_the_terminal_shows_the_line_and_what_to_do():
    run = run_alone(FREEZES)
    assert run.stdout == "too-slow\n", run.stderr
    thread = run.stderr.split("Thread ")[1]
    assert " in attempt" in thread and "restart_the_kernel" in thread
    # not frozen; and a busy machine gets the time it needs
    assert run_alone(FREEZES.replace("10**8", "10").replace("FROZEN = 0.5", "FROZEN = 60")).stderr == ""


# ---- recursion

RECURSIONS = """
import functools, sys, time
from course_lib.teaching.exercises import find_exercise, judge

class Endless:
    def __getattr__(self, name):
        return getattr(self, name + "x")

def call_itself(n):
    return call_itself(n + 1) + 1

def sort(n):
    return sorted([n], key=sort)

def compare(a, b=0):
    return len(sorted([1, 2], key=functools.cmp_to_key(compare)))

def attempt(numbers):
    sys.setrecursionlimit(10**7)
    return work(0)

for limit in (1000, 10**7):
    sys.setrecursionlimit(limit)
    for work in call_itself, sort, compare, lambda n: list(map(work, [n])), lambda n: Endless().name:
        verdict = judge(find_exercise("double_it"), attempt)
        print(verdict.slip, "RecursionError" in verdict.details, sys.getrecursionlimit() == limit)
"""


def test_endless_recursion_does_not_end_the_process_whatever_the_limit():
    run = run_alone(RECURSIONS)
    assert run.returncode == 0 and run.stdout.splitlines() == ["raises True True"] * 10, run.stderr


ELSEWHERE = """
import sysconfig
sysconfig.get_path = lambda name: "/nowhere"
import torch
from course_lib.teaching.exercises.guarded_call import CODE_OF_OTHERS
print(torch.__file__.startswith(CODE_OF_OTHERS))
"""


def test_packages_outside_the_environment_are_not_the_learners_code():
    """With `pip install --user`, torch isn't in a folder that sysconfig names."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    command = [sys.executable, "-c", ELSEWHERE]
    assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout == "True\n"
