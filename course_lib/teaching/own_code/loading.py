"""Saved functions, each loaded into its own module, so that one broken block doesn't affect the others."""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from course_lib.teaching.exercises.guarded_call import call
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import with_article

OWN_MODULE = "my_road"  # the `__name__` of every such module
LONGEST_LOAD = 5.0  # seconds


def load_function(name: str, source: str) -> tuple[Callable | None, str]:
    """The function called `name` that a block defines, or None and the reason."""
    namespace: dict[str, Any] = {"__name__": OWN_MODULE}
    label = f"<my_road.py: {name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[label] = (len(source), None, lines, label)  # so that a failure can show its line

    def run() -> None:
        exec(compile(source, label, "exec"), namespace)

    result = call(run, TimeLimit(LONGEST_LOAD))
    if result.timed_out:
        return None, "loading it takes too long"
    if result.failure:
        return None, f"loading it raises {with_article(result.failure.exception)}"
    function = namespace.get(name)
    return (function, "") if callable(function) else (None, f"it doesn't define a function `{name}`")


def count_own_calls(work: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """What `work()` returns, and how often it called each function from `my_road.py`.

    >>> count_own_calls(lambda: abs(-1))
    (1, {})
    """
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") == OWN_MODULE:
            counts[frame.f_code.co_name] += 1

    profiler = sys.getprofile()
    sys.setprofile(count)
    try:
        result = work()
    finally:
        sys.setprofile(profiler)
    return result, dict(counts)
