"""A cell as it will stand in a notebook, still knowing the lines of the source it came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from course_lib.authoring.cells import CODE
from course_lib.authoring.source import Cell


@dataclass(frozen=True)
class BuiltCell:
    """One notebook cell. `lines[i]` is the source line of text line i; `facts` go into its metadata."""

    kind: str
    form: str
    text: str
    line: int
    lines: tuple[int, ...] = ()
    minutes: float = 0
    track: str = "core"
    exercise: str | None = None
    tags: tuple[str, ...] = ()
    hide_input: bool = False
    facts: dict[str, str | int] = field(default_factory=dict)

    def source_line(self, at: int) -> int:
        """The line of the source behind line `at` (from 1) of this cell."""
        return self.lines[at - 1] if 0 < at <= len(self.lines) else self.line


def plain(cell: Cell) -> BuiltCell:
    """A source cell that goes into the notebook as it is."""
    tags = [cell.kind]
    tags += [tag.strip() for tag in cell.options.get("tags", "").split(",") if tag.strip()]
    if cell.options.get("ignore_output", False):
        tags.append("nbval-ignore-output")
    return BuiltCell(
        kind=cell.kind,
        form=cell.form,
        text=cell.text,
        line=cell.line,
        lines=cell.lines if cell.form == CODE else (),
        minutes=cell.minutes,
        track=cell.track,
        exercise=cell.options.get("exercise"),
        tags=tuple(dict.fromkeys(tags)),
        hide_input=cell.options.get("hide_input", False),
    )
