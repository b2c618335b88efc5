"""What is wrong with a lesson, and where: file, line, and what to do about it.

    >>> print(LessonError("notebooks/source/08_x/lesson.py", 123, "unknown kind"))
    notebooks/source/08_x/lesson.py:123: unknown kind

Readers and rules hand back every problem they can see, so that an author mends them in one go; where
work cannot go on they are raised together, and `except* LessonError` catches one or many.
"""

from __future__ import annotations


class LessonError(Exception):
    """One problem in a lesson's source or in what its cells put out."""

    def __init__(self, path: str, line: int, message: str):
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def raise_all(problems: list[LessonError]) -> None:
    """Raise the problems together, in the order of their lines; nothing happens where there are none."""
    if problems:
        raise ExceptionGroup("the lesson cannot be built", sorted(problems, key=lambda problem: problem.line))
