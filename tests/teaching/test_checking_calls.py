"""Whatever a learner's function does, the call comes back and the session is as it was."""

from __future__ import annotations

import _thread
import contextlib
import io
import random
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from course_lib.layers.attention import attend
from course_lib.teaching.calling import call
from course_lib.teaching.checking import judge
from course_lib.teaching.exercises import EXERCISES

ONES = (torch.ones(3),)
DOUBLE_IT = EXERCISES["double_it"]
IMPATIENT = replace(DOUBLE_IT, seconds=0.3)


def threads_of_attempts() -> list[threading.Thread]:
    """Those that still run a moment later."""
    threads = [thread for thread in threading.enumerate() if thread.name == "attempt"]
    for thread in threads:
        thread.join(0.5)
    return [thread for thread in threads if thread.is_alive()]


def test_a_loop_without_end_is_stopped_and_its_line_named():
    def attempt(numbers):
        while True:
            numbers = numbers + 1

    start = time.monotonic()
    verdict = judge(IMPATIENT, attempt)
    assert time.monotonic() - start < 20  # a busy machine takes its time
    assert verdict.slip == "too-slow"
    assert "stopped after 0.3 seconds" in verdict.headline
    assert "It was at line" in verdict.details
    assert not threads_of_attempts()


def test_the_time_limit_is_for_all_calls_together():
    def attempt(numbers):
        for _ in range(20):
            time.sleep(0.01)
        return 2 * numbers

    assert judge(IMPATIENT, attempt).slip == "too-slow"


def test_what_cannot_be_stopped_is_left_behind_and_said(monkeypatch):
    monkeypatch.setattr("course_lib.teaching.calling.PATIENCE", 0.1)
    let_go = threading.Event()

    def attempt(numbers):
        let_go.wait()  # waits outside of Python, where no exception can reach it

    try:
        verdict = judge(IMPATIENT, attempt)
        assert verdict.slip == "still-running"
        assert "Restart Kernel" in verdict.details
        assert judge(DOUBLE_IT, lambda numbers: 2 * numbers).status == "passed"
    finally:
        let_go.set()
        for thread in threads_of_attempts():
            thread.join(5)


def test_an_interrupt_by_the_user_passes_through_and_stops_the_function():
    def attempt(numbers):
        while True:
            pass

    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judge(replace(DOUBLE_IT, seconds=20), attempt)
    timer.join()
    assert not threads_of_attempts()


@pytest.mark.parametrize("leaves", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_a_session_is_caught(leaves):
    def attempt(numbers):
        raise leaves

    assert judge(DOUBLE_IT, attempt).status == "wrong"


def test_exit_in_a_notebook_does_not_end_the_kernel(monkeypatch):
    class Shell:
        ended = False

        def ask_exit(self):
            self.ended = True

    shell = Shell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert judge(DOUBLE_IT, lambda numbers: shell.ask_exit()).slip == "exit"
    assert not shell.ended
    shell.ask_exit()
    assert shell.ended, "outside of a check, exit() is what it was"


def test_endless_recursion_through_torch_does_not_end_the_process():
    class Odd(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return torch.add(torch.ones(1).as_subclass(Odd), 1)

    outcome = call(lambda numbers: numbers.as_subclass(Odd) + 1, ONES, seconds=5)
    assert outcome.fault.kind == "RecursionError"


def test_prints_and_warnings_are_kept_and_limited(capsys):
    def attempt(numbers):
        print("shape:", tuple(numbers.shape))
        print("to the other stream", file=sys.stderr)
        warnings.warn("take care", stacklevel=1)
        return 2 * numbers

    verdict = judge(DOUBLE_IT, attempt)
    assert verdict.status == "passed"
    assert "call 1:\nshape: (5,)\nto the other stream\nUserWarning: take care" in verdict.printed
    assert "call 4:\nshape: (3,)" in verdict.printed
    assert "<details" in verdict._repr_html_()
    assert capsys.readouterr() == ("", "")


def test_endless_printing_is_cut_short():
    def attempt(numbers):
        while True:
            print("again and again")

    verdict = judge(IMPATIENT, attempt)
    assert verdict.slip == "too-slow"
    assert "characters more" in verdict.printed and len(verdict.printed) < 1200


def test_the_session_is_as_it_was():
    def attempt(numbers):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_deterministic_debug_mode("warn")
        torch.manual_seed(1)
        np.random.seed(1)
        random.seed(1)
        warnings.simplefilter("ignore")
        sys.stdout = io.StringIO()
        return 2 * numbers

    def state() -> list:
        numbers = [torch.rand(1).item(), np.random.rand(), random.random()]
        modes = [
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
        ]
        return [*numbers, *modes, list(warnings.filters), sys.stdout, threading.stack_size()]

    def seed() -> None:
        torch.manual_seed(7), np.random.seed(7), random.seed(7)

    seed()
    before = state()
    seed()
    assert judge(DOUBLE_IT, attempt).status == "passed"
    assert state() == before


def test_inputs_are_copies_and_every_kind_of_change_is_seen():
    numbers = torch.ones(3)
    for change in (lambda x: x.mul_(2), lambda x: x.unsqueeze_(0), lambda x: x.__setitem__(0, 5.0)):
        assert call(change, (numbers, torch.zeros(2))[:1], seconds=5).changed == [0]
    assert torch.equal(numbers, torch.ones(3))
    assert call(lambda x: x * 2, (numbers,), seconds=5).changed == []


def test_an_exception_that_cannot_even_be_shown():
    class Rude(Exception):
        def __str__(self):
            raise RuntimeError("no")

    def attempt(numbers):
        raise Rude

    verdict = judge(DOUBLE_IT, attempt)
    assert "Rude: (its message cannot be shown)" in str(verdict)
    assert "`raise Rude`" in str(verdict)


def test_an_error_inside_torch_is_told_at_the_learners_line():
    def attempt(numbers):
        weights = torch.nn.functional.softmax(numbers, dim=3)
        return weights

    verdict = judge(DOUBLE_IT, attempt)
    assert "`weights = torch.nn.functional.softmax(numbers, dim=3)`" in verdict.details
    assert "functional.py" not in str(verdict) and "Traceback" not in str(verdict)


def test_an_error_inside_the_course_is_told_at_the_learners_line():
    def attempt(numbers):
        return attend(numbers[None], numbers[None, :1], numbers[None])

    assert "`return attend(numbers[None], numbers[None, :1], numbers[None])`" in str(
        judge(DOUBLE_IT, attempt)
    )


def test_code_without_a_file_still_gets_a_line_number():
    space: dict = {}
    exec("def attempt(numbers):\n    x = 1\n    return numbers + y\n", space)
    assert "line 3 of `attempt`" in str(judge(DOUBLE_IT, space["attempt"]))


def test_a_long_message_is_cut():
    def attempt(numbers):
        raise ValueError("x" * 5000)

    assert len(str(judge(DOUBLE_IT, attempt))) < 1000


def test_a_function_that_swallows_every_exception_once_is_still_too_slow():
    def attempt(numbers):
        with contextlib.suppress(BaseException):
            while True:
                pass
        return 2 * numbers

    assert judge(IMPATIENT, attempt).slip == "too-slow"
