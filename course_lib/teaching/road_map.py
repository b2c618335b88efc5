"""The road as a table: every lesson, its question, and whether it can be opened yet.

>>> print(road_map().table.splitlines()[0])
| | lesson | minutes | the question |
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.teaching.lessons import Lesson, lessons


@dataclass(frozen=True)
class RoadMap:
    """A Markdown table. It renders as one in JupyterLab, on GitHub and in the README."""

    table: str

    def __repr__(self) -> str:
        return self.table

    def _repr_markdown_(self) -> str:
        return self.table


def road_map(folder: str = "") -> RoadMap:
    """The table of all lessons, with links into `folder` for those that are built."""
    rows = [f"| {one.number} | {_name(one, folder)} | {one.minutes} | {one.question} |" for one in lessons()]
    return RoadMap("\n".join(["| | lesson | minutes | the question |", "|---|---|---|---|", *rows]))


def _name(lesson: Lesson, folder: str) -> str:
    return (
        f"[{lesson.title}]({folder}{lesson.notebook})"
        if lesson.built
        else f"{lesson.title} *(not built yet)*"
    )
