"""What learners are known to get wrong, from data/misconceptions.json.

>>> misconceptions()["M07"].belief
'Scores should be divided by d_k.'
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from course_lib.runtime import data_path


@dataclass(frozen=True)
class Misconception:
    """A wrong belief, what is true instead, and the lesson that deals with it."""

    id: str
    belief: str
    truth: str
    lesson: str


@cache
def misconceptions() -> dict[str, Misconception]:
    """All of them, by id."""
    rows = json.loads(data_path("misconceptions.json").read_text(encoding="utf-8"))
    return {row["id"]: Misconception(**row) for row in rows}
