"""Are the stored notebooks what their sources say? Answered without running anything."""

from __future__ import annotations

from pathlib import Path

from course_lib.authoring.draft import Draft, target
from course_lib.authoring.notebook import from_text
from course_lib.authoring.outputs import check_outputs


def inputs(notebook: dict) -> dict:
    """A notebook without what running it added."""
    cells = [
        {name: value for name, value in cell.items() if name not in ("outputs", "execution_count")}
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": cells}


def staleness(root: Path, draft: Draft) -> list[str]:
    """What is wrong with a lesson's stored learner's notebook, and what to run; empty where it is fresh."""
    path = target(root, draft.lesson, "learner")
    shown = path.relative_to(root).as_posix()
    remedy = f"run `python3 -m course_lib build {draft.lesson.number}`"
    if not path.exists():
        return [f"{shown}: not built yet; {remedy}"]
    try:
        stored = from_text(path.read_text(encoding="utf-8"))
        difference = first_difference(inputs(stored), inputs(draft.notebook("learner")), draft)
    except (ValueError, KeyError, TypeError):
        return [f"{shown}: this is not a notebook we wrote; {remedy}"]
    if difference:
        return [f"{shown}: stale: {difference}; {remedy}"]
    problems = check_outputs(draft.lesson.path, draft.cells["learner"], stored)
    return [f"{shown}: {problem.message} (source line {problem.line}); {remedy}" for problem in problems]


def first_difference(stored: dict, built: dict, draft: Draft) -> str:
    """Where a stored notebook leaves its source, in words; empty where it does not."""
    for at, (old, new) in enumerate(zip(stored["cells"], built["cells"], strict=False), 1):
        if old != new:
            line = draft.cells["learner"][at - 1].line
            return f"its cell {at} is not what line {line} of {draft.lesson.path} makes"
    if len(stored["cells"]) != len(built["cells"]):
        return f"it has {len(stored['cells'])} cells, its source makes {len(built['cells'])}"
    if stored["metadata"].get("course") != built["metadata"]["course"]:
        return f"{draft.lesson.path} has changed since"
    return "" if stored == built else "its metadata was changed by hand"


def orphans(root: Path, sources: list[Path]) -> list[str]:
    """Notebooks whose source is gone."""
    names = {source.parent.name for source in sources}
    return [
        f"{path.relative_to(root).as_posix()}: no source makes it; delete it, "
        f"or bring notebooks/source/{path.stem}/lesson.py back"
        for path in sorted((root / "notebooks").glob("*.ipynb"))
        if path.stem not in names
    ]
