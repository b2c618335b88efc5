"""`start_lesson`, the first call of every lesson."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.runtime import seed_everything
from course_lib.teaching import progress
from course_lib.teaching.contents import FULL, lesson
from course_lib.teaching.track import enter_track


def start_lesson(topic: str, *, seed: int = 0, track: str = FULL) -> None:
    """Set the style of figures and printed numbers, seed all randomness, and record that it was opened.

    `track` says which notebook this is: the full lesson or the short one.

    From then on, goals are recorded in the learner's progress when they are reached, and shown as reached.
    Prints nothing, unless something is wrong with the progress file.
    """
    opened = lesson(topic)
    enter_track(track)
    theme.use()
    torch.set_printoptions(precision=3, sci_mode=False)  # for a learner's own prints
    guard_events()
    seed_everything(seed)
    for note in progress.read().notes:
        progress.print_once(note)
    progress.record({"kind": "lesson", "lesson": opened.topic, "track": track})
    goal = {"kind": "goal", "lesson": opened.topic}
    Explorable.on_goal_reached = staticmethod(
        lambda of, name: progress.record({**goal, "name": f"{of}/{name}"})
    )
    Explorable.find_reached_goals = staticmethod(lambda of: progress.read().goals(of))


def guard_events() -> None:
    """Protect the figures of a running cell from widget messages.

    JupyterLab 4.4 and later may send widget messages to a second thread of the kernel. Every such message
    also triggers IPython's `pre_execute` and `post_execute`, and matplotlib then shows and closes the figures
    that the running cell, on the main thread, is still drawing: they come out blank or cut. So these two
    events are ignored on any other thread. (`course_lib lab` switches the second thread off; this is for
    learners with a JupyterLab of their own.) Upstream: jupyterlab/jupyterlab#19719, ipython/ipykernel#1564.
    """
    ipython = sys.modules.get("IPython")  # if nothing has imported IPython, there is no shell
    shell = ipython.get_ipython() if ipython else None
    if shell is None or hasattr(shell.events.trigger, "unguarded"):
        return
    unguarded = shell.events.trigger

    def trigger(event: str, *details: Any, **named: Any) -> None:  # IPython's own signature
        on_main_thread = threading.current_thread() is threading.main_thread()
        if on_main_thread or event not in ("pre_execute", "post_execute"):
            unguarded(event, *details, **named)

    trigger.unguarded = unguarded
    shell.events.trigger = trigger
