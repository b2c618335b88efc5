"""Signals set a flag that is checked between two steps; the bar appears in terminals and notebooks."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from functools import partial
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from course_lib.training import console
from course_lib.training.console import SIGNALS, STOP_MESSAGE, StopRequest
from course_lib.training.loop import train

# ---- Ctrl-C


@pytest.fixture(autouse=True)
def handlers():
    """Restores the signal handlers after each test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_sets_the_flag_and_prints_a_message_without_interrupting(number, capsys):
    with StopRequest(verbose=True) as outer, StopRequest() as stop:
        assert not stop.received
        send(number)
        assert stop.received and not outer.received and capsys.readouterr().err == ""
    with StopRequest(verbose=True):
        send(number)
    assert capsys.readouterr().err == f"\n{STOP_MESSAGE}\n"


def test_a_second_signal_interrupts_at_once_unless_it_is_a_repeat():
    with StopRequest():
        send()
        with pytest.raises(KeyboardInterrupt):
            send()
    with StopRequest(ignore_seconds=60.0) as stop:
        send()
        send()
        assert stop.received


def test_handlers_are_restored_and_ignored_signals_stay_ignored():
    def own_handler(number, frame):
        pass

    signal.signal(signal.SIGTERM, own_handler)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nohup, or a job in the background
    with pytest.raises(ZeroDivisionError), StopRequest() as stop:
        assert signal.getsignal(signal.SIGTERM) is not own_handler
        send()
        assert not stop.received
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is own_handler
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_in_another_thread_handlers_stay_unchanged():
    results = []

    def work():
        with StopRequest() as stop:
            results.append((stop.received, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [(False, signal.default_int_handler)]


# ---- the bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def plain(monkeypatch):
    """Neither COURSE_BAR nor a notebook."""
    monkeypatch.delenv("COURSE_BAR", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)


@pytest.mark.parametrize(
    ("switch", "stderr", "on"),
    [
        (None, io.StringIO(), False),
        (None, None, False),  # as under pythonw
        (None, Terminal(), True),
        ("1", io.StringIO(), True),
        ("0", Terminal(), False),
    ],
)
@pytest.mark.usefixtures("plain")
def test_the_bar_is_on_in_a_terminal_or_with_the_environment_variable(monkeypatch, switch, stderr, on):
    monkeypatch.setattr(sys, "stderr", stderr)
    if switch is not None:
        monkeypatch.setenv("COURSE_BAR", switch)
    assert console.bar_enabled() is on


@pytest.mark.usefixtures("plain")
def test_a_notebook_gets_the_notebook_bar(monkeypatch):
    class NotebookBar(tqdm):
        pass

    shell = SimpleNamespace(kernel=object())  # IPython in a terminal has no kernel
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.notebook", SimpleNamespace(tqdm=NotebookBar))
    with console.steps_bar(total=8, start=2) as bar:
        assert isinstance(bar, NotebookBar) and not bar.disable and (bar.total, bar.n) == (8, 2)
    assert console.steps_bar(total=3, shown=False).disable
    monkeypatch.setenv("COURSE_BAR", "0")  # set while a notebook is being built
    assert console.steps_bar(total=3).disable


@pytest.mark.usefixtures("plain")
def test_training_shows_its_loss_and_the_time_left(monkeypatch, data, make, recipe):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(console, "terminal_bar", partial(tqdm, mininterval=0))  # drawn at every step
    train(make(), data.train, recipe, validation=data.validation)
    shown = sys.stderr.getvalue()
    assert "loss=" in shown and "/12" in shown and "<" in shown
