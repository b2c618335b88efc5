"""The guard: IPython's two execute events stay on the main thread; everything else goes through."""

from __future__ import annotations

import sys
import threading

from course_lib.explore.guard import guard_events


class Events:
    def __init__(self):
        self.heard = []

    def trigger(self, event, *details, **named):
        self.heard.append((event, details, named))


class Shell:
    def __init__(self):
        self.events = Events()


def elsewhere(action, *details) -> None:
    thread = threading.Thread(target=action, args=details)
    thread.start()
    thread.join()


def test_execute_events_are_dropped_off_the_main_thread():
    shell = Shell()
    assert guard_events(shell)
    for event in ("pre_execute", "post_execute"):
        elsewhere(shell.events.trigger, event)
    assert shell.events.heard == []


def test_on_the_main_thread_everything_goes_through():
    shell = Shell()
    guard_events(shell)
    shell.events.trigger("pre_execute")
    shell.events.trigger("post_run_cell", "result", extra=1)
    assert shell.events.heard == [("pre_execute", (), {}), ("post_run_cell", ("result",), {"extra": 1})]


def test_other_events_go_through_on_any_thread():
    shell = Shell()
    guard_events(shell)
    elsewhere(shell.events.trigger, "post_run_cell", "result")
    assert shell.events.heard == [("post_run_cell", ("result",), {})]


def test_guarding_twice_is_guarding_once():
    shell = Shell()
    guard_events(shell)
    once = shell.events.trigger
    assert guard_events(shell)
    assert shell.events.trigger is once


def test_outside_ipython_it_does_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert guard_events() is False


def test_it_finds_the_running_shell(monkeypatch):
    import IPython

    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert guard_events()
    assert shell.events.trigger.guarded


def test_it_fits_the_real_event_manager():
    """IPython's own class, with a callback registered as matplotlib does it."""
    from IPython.core.events import EventManager, available_events

    class Real:
        def __init__(self):
            self.events = EventManager(self, available_events)

    shell, calls = Real(), []
    shell.events.register("post_execute", lambda: calls.append(threading.current_thread().name))
    guard_events(shell)
    elsewhere(shell.events.trigger, "post_execute")
    assert calls == []
    shell.events.trigger("post_execute")
    assert calls == ["MainThread"]
