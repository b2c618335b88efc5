"""A progress bar for long work: in a terminal and in a notebook, and nowhere else.

    with steps_bar(total=1000, start=250) as bar:
        bar.update(1)
        bar.set_postfix(loss=1.23)

It is off where nobody watches (a pipe, a log file, a notebook that is built or tested), so that stored
outputs stay the same from run to run. COURSE_BAR=1 or 0 decides it by hand.
"""

from __future__ import annotations

import os
import sys

from tqdm import tqdm as terminal_bar

from course_lib.runtime import switched_on


def steps_bar(*, total: int, start: int = 0, shown: bool = True, what: str = "") -> terminal_bar:
    """A bar over `total` steps, of which `start` are done."""
    bar = terminal_bar
    if _in_notebook():
        from tqdm.notebook import tqdm as bar
    hidden = not (shown and watched())
    return bar(total=total, initial=start, unit="step", desc=what or None, disable=hidden, leave=False)


def watched() -> bool:
    """Whether somebody is likely to look."""
    if "COURSE_BAR" in os.environ:
        return switched_on("COURSE_BAR")
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    # Asked of what is loaded already: a bare GPU machine has no IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and "ipywidgets" in sys.modules
