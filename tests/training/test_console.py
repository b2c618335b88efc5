"""Signals are noted at once and obeyed between two steps; the bar is there where somebody watches."""

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
from course_lib.training.console import SAID, SIGNALS, Stopping
from course_lib.training.loop import train

# ---- Ctrl-C


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
def test_a_signal_is_noted_and_said_and_interrupts_nothing(number, capsys):
    with Stopping(says=True) as outer, Stopping() as stopping:
        assert not stopping.asked
        ask(number)
        assert stopping.asked and not outer.asked and capsys.readouterr().err == ""
    with Stopping(says=True):
        ask(number)
    assert capsys.readouterr().err == f"\n{SAID}\n"


def test_a_second_one_interrupts_at_once_unless_it_is_an_echo():
    with Stopping():
        ask()
        with pytest.raises(KeyboardInterrupt):
            ask()
    with Stopping(echo=60.0) as stopping:
        ask()
        ask()
        assert stopping.asked


def test_handlers_come_back_and_what_is_ignored_stays_ignored():
    def mine(number, frame):
        pass

    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nohup, or a job in the background
    with pytest.raises(ZeroDivisionError), Stopping() as stopping:
        assert signal.getsignal(signal.SIGTERM) is not mine
        ask()
        assert not stopping.asked
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is mine and signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_in_another_thread_it_does_nothing_and_harms_nothing():
    found = []

    def work():
        with Stopping() as stopping:
            found.append((stopping.asked, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, signal.default_int_handler)]


# ---- the bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def plain(monkeypatch):
    """No switch, no notebook."""
    monkeypatch.delenv("COURSE_BAR", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)


@pytest.mark.parametrize(
    ("switch", "stderr", "on"),
    [
        (None, io.StringIO(), False),
        (None, None, False),  # pythonw has none
        (None, Terminal(), True),
        ("1", io.StringIO(), True),
        ("0", Terminal(), False),
    ],
)
@pytest.mark.usefixtures("plain")
def test_the_bar_is_on_in_a_terminal_or_by_the_switch(monkeypatch, switch, stderr, on):
    monkeypatch.setattr(sys, "stderr", stderr)
    if switch is not None:
        monkeypatch.setenv("COURSE_BAR", switch)
    assert console.watched() is on


@pytest.mark.usefixtures("plain")
def test_a_notebook_gets_a_bar_of_its_own(monkeypatch):
    class NotebookBar(tqdm):
        pass

    shell = SimpleNamespace(kernel=object())  # an IPython in a terminal has none
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.notebook", SimpleNamespace(tqdm=NotebookBar))
    with console.steps_bar(total=8, start=2) as bar:
        assert isinstance(bar, NotebookBar) and not bar.disable and (bar.total, bar.n) == (8, 2)
    assert console.steps_bar(total=3, shown=False).disable
    monkeypatch.setenv("COURSE_BAR", "0")  # a notebook that is being built
    assert console.steps_bar(total=3).disable


@pytest.mark.usefixtures("plain")
def test_training_shows_its_loss_and_the_time_left(monkeypatch, data, make, recipe):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(console, "terminal_bar", partial(tqdm, mininterval=0))  # drawn at every step
    train(make(), data.train, recipe, validation=data.validation)
    shown = sys.stderr.getvalue()
    assert "loss=" in shown and "/12" in shown and "<" in shown
