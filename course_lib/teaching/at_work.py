r"""Which of the learner's own functions were at work, really, while something ran.

    >>> from course_lib.teaching.keeping import load
    >>> double, _ = load("double", "def double(x):\n    return 2 * x\n")
    >>> called(lambda: double(double(1)))
    (4, {'double': 2})
    >>> called(lambda: abs(-1))
    (1, {})

A part can be the learner's and yet stand idle: where the library lends a block, it brings its insides.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

ROAD = "my_road"  # the name of the module that `keeping` loads a function into


def called(work: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """What the work gives, and how often each function from `my_road.py` was called meanwhile."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") == ROAD:
            found[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, dict(found)
