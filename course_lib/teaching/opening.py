"""The first call of every lesson.

>>> start_lesson("query_key_value", seed=8)
"""

from __future__ import annotations

import torch

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.explore.guard import guard_events
from course_lib.runtime import seed_everything
from course_lib.teaching import progress
from course_lib.teaching.lessons import lesson


def start_lesson(topic: str, *, seed: int = 0) -> None:
    """Put figure and number style in force, seed all randomness, and note that the lesson was opened.

    From here on goals that are reached are kept in the learner's progress, and remembered.
    Prints nothing, unless there is something to tell about the learner's progress file.
    """
    opened = lesson(topic)
    theme.use()
    torch.set_printoptions(precision=3, sci_mode=False)  # for a learner's own prints; ours are `fixed`
    guard_events()
    seed_everything(seed)
    for note in progress.read().notes:
        progress.say_once(note)
    progress.record({"kind": "lesson", "lesson": opened.topic})
    goal = {"kind": "goal", "lesson": opened.topic}
    Explorable.reached = staticmethod(lambda of, name: progress.record({**goal, "name": f"{of}/{name}"}))
    Explorable.remembered = staticmethod(lambda of: progress.read().goals(of))
