"""What to tell a learner whose notebook was made for an older version of the course.

    >>> import course_lib.lessons
    Traceback (most recent call last):
    ModuleNotFoundError: course_lib.lessons is not part of this version of the course. ...

A notebook that a learner copied and filled in keeps the import lines of its day. Where one of them fails,
Python's own message would say what is missing, but not what to do.
"""

from __future__ import annotations

import sys

WHAT_TO_DO = (
    "{} is not part of this version of the course. A notebook that imports it belongs to an older version: "
    "open the current one from `notebooks/`. Your own functions and your progress are kept."
)


class Advice:
    """The last finder that Python asks for a module, when no other has found it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith("course_lib."):
            raise ModuleNotFoundError(WHAT_TO_DO.format(name), name=name)


def advise() -> None:
    """Give advice from now on."""
    if not any(isinstance(finder, Advice) for finder in sys.meta_path):
        sys.meta_path.append(Advice())
