"""How often the learner's own functions are called: they are known by the module they were loaded into.

>>> count_own_calls(lambda: abs(-1))
(1, {})
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

OWN_MODULE = "my_road"  # the name of the module that a kept function is loaded into


def count_own_calls(work: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """What `work()` returns, and how often each function from `my_road.py` was called meanwhile.

    A part can be the learner's and yet never be called: where a block is the library's, so are its parts.
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
