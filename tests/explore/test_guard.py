"""The guard: IPython's two execute events stay on the main thread; everything else goes through."""

from __future__ import annotations

import sys
import threading

import IPython
from IPython.core.events import EventManager, available_events

from course_lib.explore.guard import guard_events


class Shell:
    """IPython's own events, with callbacks registered as matplotlib does it."""

    def __init__(self):
        self.events, self.heard = EventManager(self, available_events), []
        for event in ("pre_execute", "post_execute"):
            self.events.register(event, lambda event=event: self.heard.append(event))
        self.events.register("post_run_cell", lambda result: self.heard.append(result))


def test_execute_events_stay_on_the_main_thread_and_others_go_anywhere():
    shell = Shell()
    assert guard_events(shell)
    for event, details in (("pre_execute", ()), ("post_execute", ()), ("post_run_cell", ("result",))):
        thread = threading.Thread(target=shell.events.trigger, args=(event, *details))
        thread.start()
        thread.join()
    assert shell.heard == ["result"]
    shell.events.trigger("pre_execute")
    shell.events.trigger("post_execute")
    assert shell.heard == ["result", "pre_execute", "post_execute"]


def test_it_finds_the_running_shell_and_guards_it_once(monkeypatch):
    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert guard_events()
    once = shell.events.trigger
    assert guard_events() and shell.events.trigger is once
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert guard_events() is False, "outside IPython there is nothing to guard"
