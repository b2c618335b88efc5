"""The guard: IPython's two execute events stay on the main thread; everything else goes through."""

from __future__ import annotations

import sys
import threading

import pytest
from IPython.core.events import EventManager, available_events

from course_lib.explore.guard import guard_events


class Shell:
    """IPython's own events, with callbacks registered as matplotlib does it."""

    def __init__(self):
        self.events, self.heard = EventManager(self, available_events), []
        for event in ("pre_execute", "post_execute"):
            self.events.register(event, lambda event=event: self.heard.append(event))
        self.events.register("post_run_cell", lambda result: self.heard.append(result))


@pytest.fixture
def shell():
    made = Shell()
    assert guard_events(made)
    return made


def test_execute_events_stay_on_the_main_thread_and_others_go_anywhere(shell):
    for event, details in (("pre_execute", ()), ("post_execute", ()), ("post_run_cell", ("result",))):
        thread = threading.Thread(target=shell.events.trigger, args=(event, *details))
        thread.start()
        thread.join()
    assert shell.heard == ["result"]
    shell.events.trigger("pre_execute")
    shell.events.trigger("post_execute")
    assert shell.heard == ["result", "pre_execute", "post_execute"]


def test_guarding_twice_is_guarding_once(shell):
    once = shell.events.trigger
    assert guard_events(shell)
    assert shell.events.trigger is once


def test_it_finds_the_running_shell(monkeypatch):
    import IPython

    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert guard_events() and shell.events.trigger.guarded


def test_outside_ipython_it_does_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert guard_events() is False
