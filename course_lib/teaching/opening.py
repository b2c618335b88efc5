"""The first call of every lesson.

>>> start_lesson("query_key_value", seed=8)
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.runtime import seed_everything
from course_lib.teaching import progress
from course_lib.teaching.contents import lesson

ON_MAIN_THREAD = ("pre_execute", "post_execute")


def start_lesson(topic: str, *, seed: int = 0) -> None:
    """Set the style of figures and printed numbers, seed all randomness, and record that it was opened.

    From then on, goals that are reached are recorded in the learner's progress and shown as reached later.
    Prints nothing, unless something is wrong with the progress file.
    """
    opened = lesson(topic)
    theme.use()
    torch.set_printoptions(
        precision=3, sci_mode=False
    )  # for a learner's own prints; the course's use `fixed`
    guard_events()
    seed_everything(seed)
    for note in progress.read().notes:
        progress.say_once(note)
    progress.record({"kind": "lesson", "lesson": opened.topic})
    goal = {"kind": "goal", "lesson": opened.topic}
    Explorable.on_goal_reached = staticmethod(
        lambda of, name: progress.record({**goal, "name": f"{of}/{name}"})
    )
    Explorable.find_reached_goals = staticmethod(lambda of: progress.read().goals(of))


def guard_events(shell: Any = None) -> bool:
    """Guard this kernel, once, so that a slider does not spoil the figures of a running cell.

    JupyterLab 4.4 and later may hand widget messages to a second thread of the kernel. Every such message
    also fires IPython's `pre_execute` and `post_execute`, and matplotlib then shows and closes the figures
    that the running cell, on the main thread, is still drawing: they come out blank or cut. The guard keeps
    those two events on the main thread, where cells run. (`course_lib lab` switches the second thread off;
    this is for learners who bring a JupyterLab of their own.) Returns whether it is guarded: outside
    IPython there is nothing to guard. Upstream: jupyterlab/jupyterlab#19719, ipython/ipykernel#1564.
    """
    if shell is None:
        ipython = sys.modules.get("IPython")  # where nothing has imported IPython, there is no shell
        shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return False
    events = shell.events
    if getattr(events.trigger, "guarded", False):
        return True
    unguarded = events.trigger

    def trigger(event: str, *details: Any, **named: Any) -> None:  # IPython's own signature
        if event in ON_MAIN_THREAD and threading.current_thread() is not threading.main_thread():
            return
        unguarded(event, *details, **named)

    trigger.guarded = True
    events.trigger = trigger
    return True
