"""Signals are noted at once and obeyed between two steps."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from course_lib.training.stopping import SIGNALS, Stopping


@pytest.fixture(autouse=True)
def handlers():
    """Whatever a test does, the handlers are those of before."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def ask(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_noted_and_interrupts_nothing(number):
    with Stopping() as stopping:
        assert not stopping.asked
        ask(number)
        assert stopping.asked


def test_a_second_one_interrupts_at_once():
    with Stopping() as stopping:
        ask()
        with pytest.raises(KeyboardInterrupt):
            ask()
        assert stopping.asked


def test_handlers_come_back():
    def mine(number, frame):
        pass

    before = signal.signal(signal.SIGTERM, mine)
    with Stopping():
        assert signal.getsignal(signal.SIGTERM) is not mine
    assert signal.getsignal(signal.SIGTERM) is mine
    with pytest.raises(ZeroDivisionError), Stopping():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is mine
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGTERM, before)


def test_what_is_ignored_stays_ignored():
    """nohup, or a job in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Stopping() as stopping:
        ask()
        assert not stopping.asked
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_one_inside_another():
    with Stopping() as outer:
        with Stopping() as inner:
            ask()
        assert inner.asked and not outer.asked
        ask()
        assert outer.asked


def test_in_another_thread_it_does_nothing_and_harms_nothing():
    found = []

    def work():
        with Stopping() as stopping:
            found.append((stopping.asked, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, signal.default_int_handler)]
