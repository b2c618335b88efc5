"""A guard for learners who bring their own JupyterLab: a slider must not spoil the figures of a running cell.

JupyterLab 4.4 and later may hand widget messages to a second thread of the kernel. Every such message also
fires IPython's `pre_execute` and `post_execute`, and matplotlib then shows and closes the figures that the
running cell, on the main thread, is still drawing: they come out blank or cut. The guard keeps those two
events on the main thread, where cells run. (`course_lib lab` switches the second thread off altogether.)

Upstream: jupyterlab/jupyterlab#19719, ipython/ipykernel#1564.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

KEPT = ("pre_execute", "post_execute")


def guard_events(shell: Any = None) -> bool:
    """Guard this kernel, once; say whether it is guarded. Outside IPython there is nothing to guard."""
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
        if event in KEPT and threading.current_thread() is not threading.main_thread():
            return
        unguarded(event, *details, **named)

    trigger.guarded = True
    events.trigger = trigger
    return True
