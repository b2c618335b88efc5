"""What the number in a goal's words is compared with: a lesson's test_explorables.py says so in LIMITS."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from course_lib.explore.base import Facts

Change = str | tuple | Callable[[Facts, Any], Facts]


class Limit(NamedTuple):
    """`change` is a fact, a path into one, or a function that sets the number to a value.

    The comparison and the number are those of the words, unless given. What `counts` is a whole number.
    """

    goal: str
    words: str
    change: Change
    comparison: Callable[[Any, Any], bool] | None = None
    number: float | Callable[[Facts, Facts], float] | None = None
    counts: bool = False


def within(change: Change, goal: str, words: str, low: float, high: float) -> list[Limit]:
    return [Limit(goal, words, change, operator.gt, low), Limit(goal, words, change, operator.lt, high)]
