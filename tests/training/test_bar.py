"""The bar is there where somebody watches, and nowhere else."""

from __future__ import annotations

import io
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from course_lib.training import bar
from course_lib.training.train import train


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """No switch, no notebook."""
    monkeypatch.delenv("COURSE_BAR", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)


@pytest.fixture
def notebook(monkeypatch):
    """What the bar can see of a notebook."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace())
    return shell


def test_off_in_a_pipe(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not bar.watched()
    with bar.steps_bar(total=3) as steps:
        steps.update(1)
        steps.set_postfix(loss=1.0)
    assert steps.disable and sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)  # pythonw has none
    assert not bar.watched()


def test_on_in_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bar.steps_bar(total=8, start=2) as steps:
        assert not steps.disable and (steps.n, steps.total) == (2, 8)
        steps.update(1)
    assert "step" in sys.stderr.getvalue()
    with bar.steps_bar(total=8, shown=False) as steps:
        assert steps.disable


@pytest.mark.parametrize(("switch", "on"), [("1", True), ("0", False), ("", False)])
def test_the_switch_decides(monkeypatch, switch, on):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setenv("COURSE_BAR", switch)
    assert bar.watched() is on
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bar.watched() is on


def test_a_notebook_gets_a_bar_of_its_own(monkeypatch, notebook):
    class NotebookBar(tqdm):
        pass

    monkeypatch.setitem(sys.modules, "tqdm.notebook", SimpleNamespace(tqdm=NotebookBar))
    with bar.steps_bar(total=3) as steps:
        assert isinstance(steps, NotebookBar) and not steps.disable
    monkeypatch.setenv("COURSE_BAR", "0")  # a notebook that is being built
    with bar.steps_bar(total=3) as steps:
        assert steps.disable


def test_an_ipython_terminal_is_no_notebook(monkeypatch, notebook):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    del notebook.kernel
    assert not bar.watched()
    assert isinstance(bar.steps_bar(total=1), tqdm)


def test_training_shows_loss_and_speed_and_time_left(monkeypatch, data, make, recipe):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("course_lib.training.train.BAR_EVERY", 2)
    monkeypatch.setattr(bar, "terminal_bar", partial(tqdm, mininterval=0))  # drawn at every step
    train(make(), data.train, recipe, validation=data.validation)
    shown = sys.stderr.getvalue()
    assert "loss=" in shown and "tokens/s=" in shown and "/12" in shown and "<" in shown
