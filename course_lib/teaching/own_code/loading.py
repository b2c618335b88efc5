"""A kept function brought back to life: its block is run in a module of its own.

So one broken block does not spoil the others. A block that an older version of the course wrote may import
modules that have moved since: they are redirected (`course_lib.old_imports`), and the file stays as it is.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from typing import Any

from course_lib.old_imports import redirect_imports
from course_lib.teaching.exercises.guarded_call import call
from course_lib.teaching.own_code.call_counts import OWN_MODULE

LONGEST_LOAD = 5.0  # seconds for a block of my_road.py


def load_function(name: str, source: str) -> tuple[Callable | None, str]:
    """The function called `name` that a block defines, or None and why there is none."""
    namespace: dict[str, Any] = {"__name__": OWN_MODULE}
    label = f"<my_road.py: {name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[label] = (len(source), None, lines, label)  # so that a failure can show its line

    def run() -> None:
        exec(compile(redirect_imports(source, label), label, "exec"), namespace)

    result = call(run, time.monotonic() + LONGEST_LOAD)
    if result.timed_out:
        return None, "it does not end when it is loaded"
    if result.failure:
        return None, f"it stops with a {result.failure.exception}"
    function = namespace.get(name)
    return (function, "") if callable(function) else (None, f"it makes no function `{name}`")
